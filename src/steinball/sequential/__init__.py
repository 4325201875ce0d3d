"""Streams: a test that may be stopped at any time, and a monitor that raises alarms. Both have a state."""

from steinball.sequential.sequential_test import SequentialTest

__all__ = ["SequentialTest"]
