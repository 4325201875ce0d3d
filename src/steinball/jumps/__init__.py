"""Moves that a model allows: P-invariant jumps between modes, the modes themselves, and a warning without them."""

from steinball.jumps.modes import Jumps, ModeJumps, Modes, find_modes

__all__ = ["Jumps", "ModeJumps", "Modes", "find_modes"]
