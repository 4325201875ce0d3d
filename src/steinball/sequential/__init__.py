"""A test of a stream, which has a state."""

from steinball.sequential.stream import SequentialTest

__all__ = ["SequentialTest"]
