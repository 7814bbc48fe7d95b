# SPDX-License-Identifier: Apache-2.0
"""Types of elements. One class for all packages; each prints its types as the framework it follows does."""
import numpy as np

try:
    import ml_dtypes as _ml_dtypes
    _BFLOAT16 = np.dtype(_ml_dtypes.bfloat16)
except ImportError:
    # NumPy has no bfloat16: values are kept as float32, and the type remembers what it stands for.
    _BFLOAT16 = np.dtype(np.float32)


class DType:
    """The type of a tensor's elements. Equal to its name, to NumPy's type and to the same type of another package."""
    __slots__ = ("name", "numpy", "_prefix")

    def __init__(self, name, numpy, prefix=""):
        self.name, self.numpy, self._prefix = name, np.dtype(numpy), prefix

    @property
    def as_numpy_dtype(self):
        """NumPy's type of it."""
        return self.numpy.type

    @property
    def is_floating_point(self):
        """Whether it is a type of floats."""
        return self.name in ("float16", "bfloat16", "float32", "float64")

    @property
    def is_floating(self):
        """Whether it is a type of floats."""
        return self.is_floating_point

    @property
    def is_integer(self):
        """Whether it is a type of whole numbers."""
        return self.numpy.kind in "iu"

    @property
    def is_complex(self):
        """False: there are no complex numbers."""
        return False

    @property
    def is_bool(self):
        """Whether it is the type of truth values."""
        return self.name == "bool"

    @property
    def itemsize(self):
        """The bytes of an element."""
        return 2 if self.name == "bfloat16" else self.numpy.itemsize

    @property
    def size(self):
        """The bytes of an element."""
        return self.itemsize

    @property
    def min(self):
        """The smallest number of the type."""
        return _limits(self.numpy).min

    @property
    def max(self):
        """The largest number of the type."""
        return _limits(self.numpy).max

    def __eq__(self, other):
        if isinstance(other, DType):
            return self.name == other.name
        if isinstance(other, str):
            return self.name == other
        try:
            return self.numpy == np.dtype(other)
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"<dtype: '{self.name}'>" if self._prefix == "tf" else f"pando.{self.name}"

    def __str__(self):
        return self.__repr__()

    def __reduce__(self):
        return named, (self.name, self._prefix)


def _limits(numpy):
    return np.finfo(numpy) if numpy.kind == "f" else np.iinfo(numpy)


_NUMPY = {"float16": np.float16, "bfloat16": _BFLOAT16, "float32": np.float32, "float64": np.float64, "int8": np.int8,
          "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16,
          "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_}
_families = {}


def family(prefix):
    """All types by name, as the package of this prefix ("tf" or "") prints them."""
    if prefix not in _families:
        _families[prefix] = {name: DType(name, numpy, prefix) for name, numpy in _NUMPY.items()}
    return _families[prefix]


def named(name, prefix=""):
    """The type of this name."""
    return family(prefix)[name]


def of(source, prefix=""):
    """The type that is meant by a type, its name, a NumPy type or one of Python's."""
    if isinstance(source, DType):
        return source if source._prefix == prefix else family(prefix)[source.name]
    name = source if isinstance(source, str) else np.dtype(source).name
    try:
        return family(prefix)[name]
    except KeyError:
        from pando.core.nearest import suggestion
        raise TypeError(f"unknown type {name!r}{suggestion(name, _NUMPY)}") from None
