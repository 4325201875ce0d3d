"""Moves that a model allows: P-invariant jumps between modes, the modes themselves, and a warning without them."""

from steinball.cautions import SeparatedModesWarning
from steinball.jumps.base import Jumps
from steinball.jumps.modes import Modes, find_modes
from steinball.jumps.offset import ModeJumps
from steinball.jumps.separated import is_multimodal

__all__ = ["Jumps", "ModeJumps", "Modes", "SeparatedModesWarning", "find_modes", "is_multimodal"]
