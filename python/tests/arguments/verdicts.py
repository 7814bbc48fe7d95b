# SPDX-License-Identifier: Apache-2.0
"""Whether an argument is obeyed, refused or told of: a call with it is compared to the same call without."""
import re

from arguments import calls, values
from arguments.results import observe
from arguments.subjects import KINDS


def _names(text, argument):
    return re.search(rf"(?<![A-Za-z]){re.escape(argument)}(?![A-Za-z])", str(text)) is not None


def argument_names(subject):
    """The arguments that it takes by name, and those that its class takes beyond its signature."""
    _base(subject)
    names = [name for name, parameter in subject.parameters.items()
             if parameter.kind in (KINDS.POSITIONAL_OR_KEYWORD, KINDS.KEYWORD_ONLY)]
    return names + [name for name in values.beyond_signature(subject) if name not in names]


_bases = {}


def _base(subject, companions=None):
    """What a call does without the argument; those of one subject are kept."""
    key = repr(companions or {})
    if _bases.get("subject") is not subject:
        _bases.clear()
        _bases["subject"] = subject
    if key not in _bases:
        made, again = (observe(lambda: calls.call(subject, companions or {})) for _ in range(2))
        if made.facets != again.facets:
            made.error = AssertionError(f"two calls that are alike differ: {_first_difference(made.facets, again.facets)}")
        _bases[key] = made
    return _bases[key]


def _first_difference(one, other):
    return next((pair for pair in zip(one, other) if pair[0] != pair[1]), (len(one), len(other)))


def refuses_all(subject):
    """Whether calls are refused whatever is given: each argument is then, too."""
    return isinstance(_base(subject).error, NotImplementedError)


def verdict(subject, argument):
    """None if the argument is obeyed, refused or told of; otherwise what is wrong with it."""
    companions = values.companions(subject, argument)
    base = _base(subject, companions)
    if isinstance(base.error, NotImplementedError):
        # What is refused altogether is refused with each argument.
        return None
    if base.error is not None:
        return f"the call that all others are compared to fails: {type(base.error).__name__}: {base.error}"
    others = values.others(subject, argument)
    if not others:
        return "there is no other value for it; add one to arguments/values.py"
    for other in others:
        outcome = observe(lambda other=other: calls.call(subject, {**companions, argument: other}))
        if outcome.error is not None:
            if not _names(outcome.error, argument):
                return f"{other!r} is refused in words that do not name it: {type(outcome.error).__name__}: {outcome.error}"
        elif not any(_names(notice, argument) for notice in outcome.notices if notice not in base.notices):
            if outcome.facets == base.facets and outcome.notices == base.notices:
                return f"{other!r} changes nothing that can be seen, and nothing says so"
    return None
