"""Moves that a model allows: P-invariant jumps between modes, the modes themselves, and a warning without them."""

from steinball.jumps.base import Jumps, closed_under_moves
from steinball.jumps.modes import Modes, find_modes
from steinball.jumps.offset import ModeJumps, as_jumps
from steinball.jumps.separated import SeparatedModesWarning, is_multimodal, warn_if_multimodal

__all__ = [
    "Jumps",
    "ModeJumps",
    "Modes",
    "SeparatedModesWarning",
    "as_jumps",
    "closed_under_moves",
    "find_modes",
    "is_multimodal",
    "warn_if_multimodal",
]
