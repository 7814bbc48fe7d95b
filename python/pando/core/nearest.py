# SPDX-License-Identifier: Apache-2.0
"""Names that are not there: what to say, with the nearest name that is."""
import difflib
import importlib.abc
import sys
import types


def nearest(name, known):
    """The name of `known` that is most like `name`, or None if none is."""
    by_lower = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def suggestion(name, known):
    """"; the nearest is X", or nothing."""
    found = nearest(name, [candidate for candidate in known if not candidate.startswith("_")])
    return f"; the nearest is {found}" if found else ""


def missing_attribute(where, name, known):
    """The AttributeError for a name that a module or class lacks, so that hasattr() works."""
    return AttributeError(f"{where} has no {name!r} in Pando{suggestion(name, known)}")


def public_names(module):
    """What a module offers: its `__all__`, or its own names without those that it imports for itself."""
    listed = module.__dict__.get("__all__")
    if listed is not None:
        return listed
    return [name for name, value in vars(module).items() if not name.startswith("_") and _is_offered(value)]


def _is_offered(value):
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("pando.")
    origin = getattr(value, "__module__", None) or type(value).__module__
    return not origin.startswith(("typing", "__future__", "collections"))


def attributes_of(name):
    """The `__getattr__` of the module of this name: an error with the nearest name that the module offers."""
    def missing(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise missing_attribute(name, attribute, public_names(sys.modules[name]))
    return missing


def unknown_argument(where, name, known):
    """The TypeError for a keyword argument that a function lacks."""
    return TypeError(f"{where}() got an unexpected keyword argument {name!r}{suggestion(name, known)}")


def check_keywords(where, keywords, accepted=()):
    """Raises for the first keyword argument that is not one of the accepted ones, which change no result."""
    for name in keywords:
        if name not in accepted:
            raise unknown_argument(where, name, accepted)


class Absences(importlib.abc.MetaPathFinder):
    """The last finder: `from pando.keras import Dens` fails with the nearest name that there is."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        module = sys.modules.get(package)
        if fullname.partition(".")[0] == "pando" and module is not None:
            # Without its name in it, the import system hands the exception on to `from package import name`.
            raise ModuleNotFoundError(str(missing_attribute(package, name, dir(module))))
        return None
