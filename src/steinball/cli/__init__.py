"""The command ``steinball``."""

from steinball.cli.commands import app, main

__all__ = ["app", "main"]
