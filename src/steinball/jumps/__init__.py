"""Moves that a model allows: P-invariant jumps between modes, the modes themselves, and a warning without them."""

from typing import TYPE_CHECKING

from steinball.cautions import SeparatedModesWarning
from steinball.cautions import renamed_names as _renamed_names
from steinball.jumps.base import Jumps
from steinball.jumps.modes import Modes, find_modes
from steinball.jumps.offset import ModeJumps
from steinball.jumps.separated import is_multimodal

__all__ = ["Jumps", "ModeJumps", "Modes", "SeparatedModesWarning", "find_modes", "is_multimodal"]

if not TYPE_CHECKING:
    __getattr__ = _renamed_names(
        __name__,
        {
            "as_jumps": "steinball.jumps.offset.as_jumps",
            "closed_under_moves": "steinball.radius.base.closed_under_moves",
            "warn_if_multimodal": "steinball.jumps.separated.warn_if_multimodal",
        },
    )
