# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments that upstream's functions have beyond those that matter here: accepted by name, and only those."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

from pando.core.messages import notice_once
from pando.core.nearest import unknown_argument

_Function = TypeVar("_Function", bound=Callable[..., Any])


def accepts(*without_effect: str, **only: Any) -> Callable[[_Function], _Function]:
    """Lets a function take more keyword arguments, those that upstream's has.

    The names `without_effect` change no result; a value that is given for one is told of, once. Those of `only` would change it,
    and are accepted with this value alone. A name that is neither of them is refused, with the nearest one.

    >>> @accepts("use_locking", partition_strategy="mod")
    ... def lookup(table, ids):
    ...     return [table[i] for i in ids]
    >>> lookup([5, 6], ids=[1], partition_strategy="mod")
    [6]
    >>> lookup([5, 6], id=[1])
    Traceback (most recent call last):
    TypeError: lookup() got an unexpected keyword argument 'id'; the nearest is ids
    """
    def wrap(function):
        parameters = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
        where = function.__qualname__.replace(".__init__", "").replace(".__new__", "")

        @functools.wraps(function)
        def call(*arguments, **keywords):
            for name in [name for name in keywords if name not in parameters]:
                value = keywords.pop(name)
                if name in only:
                    if value is not None and value != only[name]:
                        raise NotImplementedError(f"{where}: {name}={value!r} is not in Pando")
                elif name not in without_effect:
                    raise unknown_argument(where, name, [*parameters, *only, *without_effect])
                elif value is not None and value is not False:
                    notice_once("tf", f"{where}: {name} has no effect in Pando")
            return function(*arguments, **keywords)
        return call
    return wrap
