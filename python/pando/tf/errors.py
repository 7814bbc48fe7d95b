# SPDX-License-Identifier: Apache-2.0
"""tf.errors."""
import typing as _typing

from pando._core import Error as OpError
from pando._core import InternalError, OutOfRangeError
from pando.core.nearest import attributes_of as _attributes_of

InvalidArgumentError = FailedPreconditionError = NotFoundError = UnimplementedError = OpError
__all__ = ["FailedPreconditionError", "InternalError", "InvalidArgumentError", "NotFoundError", "OpError",
           "OutOfRangeError", "UnimplementedError"]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
