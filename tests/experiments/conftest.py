"""What the tests of the experiments share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from experiments.__main__ import main

Command = Callable[..., Any]


@pytest.fixture
def command(command_of: Callable[..., Command]) -> Command:
    """``python -m experiments`` as a function of its arguments, in this process."""
    return command_of(main, "experiments")
