# SPDX-License-Identifier: Apache-2.0
"""The types that signatures name: what users may give where upstream takes several kinds of things."""
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

# An array, a tensor, a number or nested lists of numbers.
ArrayLike = Any
# Arrays in a list or a dict, a Dataset, a generator or a Sequence of batches.
Samples = Any
# One size for all axes, or one for each.
Sizes = Union[int, Sequence[int]]
# A shape; None is a size that is known later.
ShapeLike = Sequence[Optional[int]]
Path = Union[str, os.PathLike[str]]
# A name such as "relu" or "glorot_uniform", an object, or a function.
Activation = Union[str, Callable[..., Any], None]
Identifier = Union[str, Mapping[str, Any], Callable[..., Any], None]
# A type of elements: its name, NumPy's or one of the package's.
DTypeLike = Any
Logs = Optional[Dict[str, Any]]
Arrays = List[np.ndarray]
Function = Callable[..., Any]
Pair = Tuple[float, float]
