"""The command ``steinball``."""

from steinball.cli.guard import main

__all__ = ["main"]
