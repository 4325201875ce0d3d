"""Moves that a model allows: P-invariant jumps between modes, the modes themselves, and a warning without them."""

from steinball.jumps.modes import Jumps, Modes, find_modes
from steinball.jumps.offset import ModeJumps

__all__ = ["Jumps", "ModeJumps", "Modes", "find_modes"]
