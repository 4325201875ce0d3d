"""What was found out about an object, kept as long as the object lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

_MOST = 64  # findings of one owner: under ever other kernels or tilts nothing is asked for twice
_KEPT: dict[int, tuple[weakref.ref[Any], dict[Any, Any]]] = {}
_NOTHING: Any = object()
T = TypeVar("T")


def kept_with(owner: Any, key: Any, make: Callable[[], T], holds: Callable[[T], bool] = lambda found: True) -> T:
    """What ``make`` found out about ``owner``, found out once and kept as long as ``owner`` lives and it ``holds``.

    An owner that cannot be referred to weakly is asked every time. Of an owner about which something no longer holds
    all is forgotten that was found before; of one about which ever other things are asked, what was not asked for
    longest.

    Examples
    --------
    >>> class Owner: pass
    >>> owner, asked = Owner(), []
    >>> [kept_with(owner, "answer", lambda: asked.append(1) or 42) for _ in range(2)], len(asked)
    ([42, 42], 1)
    """
    name = id(owner)
    place = _KEPT.get(name)
    if place is None or place[0]() is not owner:
        try:
            place = weakref.ref(owner, partial(_forget, _KEPT, name)), {}
        except TypeError:
            return make()
        _KEPT[name] = place
    kept = place[1]
    found: T = kept.get(key, _NOTHING)  # asked for once: a key may take long to compare
    if found is not _NOTHING and not holds(found):
        kept.clear()
        found = _NOTHING
    if found is _NOTHING:
        found = kept[key] = make()
    elif len(kept) >= _MOST // 2:  # to the end: others are forgotten before it
        kept[key] = kept.pop(key, found)
    if len(kept) > _MOST:
        kept.pop(next(iter(kept)), None)
    return found


def _forget(kept: dict[int, Any], name: int, owner: Any) -> None:
    """Drop what was kept with an owner; ``kept`` is passed on, since globals may be gone when the interpreter ends."""
    kept.pop(name, None)
