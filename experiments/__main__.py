"""``python -m experiments paper …`` and ``python -m experiments evidence …``."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from experiments.evidence.registry import EVIDENCE
from experiments.framework.command import commands_of
from experiments.paper.registry import PAPER
from steinball.cli.outcome import one_line
from steinball_command.guard import INTERRUPTED, NOT_A_DECISION, say

__all__ = ["app", "main", "run"]

app = typer.Typer(
    name="python -m experiments",
    help="The experiments behind the claims: run them, draw their figures, check what they must show.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for collection in (PAPER, EVIDENCE):
    app.add_typer(commands_of(collection), name=collection.command)


def main() -> None:
    """Run the command line."""
    run(app)


def run(commands: Callable[[], None]) -> None:
    """Run some commands; whatever leaves them ends in one line and code 2, and Ctrl-C with 130."""
    try:
        commands()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        say("error: " + one_line(error))
        sys.exit(NOT_A_DECISION)


if __name__ == "__main__":
    main()
