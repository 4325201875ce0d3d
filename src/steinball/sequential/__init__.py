"""Streams: a test that may be stopped at any time, and a monitor that raises alarms."""

from steinball.sequential.monitor import Alarm, Monitor
from steinball.sequential.sequential_test import SequentialTest

__all__ = ["Alarm", "Monitor", "SequentialTest"]
