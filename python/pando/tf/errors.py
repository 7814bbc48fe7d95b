# SPDX-License-Identifier: Apache-2.0
"""tf.errors."""
from pando import Error as OpError
from pando import InternalError, OutOfRangeError

InvalidArgumentError = FailedPreconditionError = NotFoundError = UnimplementedError = OpError
__all__ = ["FailedPreconditionError", "InternalError", "InvalidArgumentError", "NotFoundError", "OpError",
           "OutOfRangeError", "UnimplementedError"]
