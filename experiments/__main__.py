"""``python -m experiments paper …`` and ``python -m experiments evidence …``."""

from __future__ import annotations

import typer

from experiments.evidence.registry import EVIDENCE
from experiments.framework.command import commands_of
from experiments.paper.registry import PAPER
from steinball.cli import outcome

__all__ = ["app", "main"]

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
    outcome.run(app)


if __name__ == "__main__":
    main()
