"""Is the data inside a ball around your model? Robust kernel Stein goodness-of-fit tests.

The public names are those of ``steinball/names.py``. They are loaded when the first of them is asked for, so that the
command can report whatever goes wrong while they load.
"""

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from steinball.names import *  # noqa: F403
    from steinball.names import __all__ as __all__
else:

    def __getattr__(name):
        from importlib import import_module

        if name == "__all__" or not name.startswith("__"):
            public = vars(import_module("steinball.names"))
            known = ("__all__", *public.get("__all__", ()))  # it has none while it is being loaded
            if name in known:
                globals().update({key: public[key] for key in known})
                return public[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
