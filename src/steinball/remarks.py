"""What checks have to say without stopping, and the one function that says it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import NamedTuple

from steinball.cautions import SteinballWarning


class Remark(NamedTuple):
    """What a check has to say without stopping: a category of warnings, the cause and the remedy."""

    category: type[SteinballWarning]
    cause: str
    remedy: str


def give(remarks: Iterable[Remark]) -> list[str]:
    """Warn of every remark, at the line of the user's own code that called this library, and return the texts.

    Examples
    --------
    >>> from steinball.cautions import RoundedDataWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     give([Remark(RoundedDataWarning, "The data are whole numbers.", "Say so.")])
    ['The data are whole numbers. Say so.']
    """
    texts = {f"{remark.cause} {remark.remedy}": remark.category for remark in remarks}
    for text, category in texts.items():
        warnings.warn(text, category, stacklevel=_levels_to_caller())
    return list(texts)


def _levels_to_caller() -> int:
    """How far up the first frame outside this package is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == "steinball" and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level
