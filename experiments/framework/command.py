"""The commands of a collection of experiments: list, run, draw and check them, and write their page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from experiments.framework.check import MISSES, check, render_check
from experiments.framework.collection import Collection
from experiments.framework.figures import render
from experiments.framework.page import write_page
from experiments.framework.run import run, run_again
from steinball.cli import outcome

__all__ = ["commands_of"]

_MISSED = 1

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Experiments, or all.")]
Out = Annotated[Path, typer.Option(help="Folder of the tables.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]


@contextmanager
def _ending(debug: bool = False) -> Iterator[None]:
    """As a command of ``steinball`` ends: one line on stderr and code 2 for whatever goes wrong, 130 for Ctrl-C."""
    with outcome.ending(debug=debug, own=Path(__file__).parents[1]):
        yield


def commands_of(collection: Collection) -> typer.Typer:
    """The same five commands for every collection of experiments."""
    app = typer.Typer(help=collection.about, no_args_is_help=True)
    for add in (_add_list, _add_run, _add_figure, _add_check, _add_page):
        add(app, collection)
    return app


def _add_list(app: typer.Typer, collection: Collection) -> None:
    @app.command("list")
    def list_experiments() -> None:
        """Name every experiment, with its repeats and variants."""
        with _ending():
            width = max(len(name) for name in collection.experiments)
            for e in collection.experiments.values():
                variants = "; " + ", ".join(e.variants) if len(e.variants) > 1 else ""
                outcome.write(f"{e.name:{width}s}  {e.title} ({e.reference}; {e.repeats} repeats{variants})\n")


def _add_run(app: typer.Typer, collection: Collection) -> None:
    @app.command("run")
    def run_experiments(
        names: Names,
        repeats: Annotated[int | None, typer.Option(help="Repeats of every cell; its own number by default.")] = None,
        jobs: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
        seed: Annotated[int, typer.Option(help="Seed of the whole experiment.")] = 0,
        variant: Annotated[str | None, typer.Option(help="A variant that `list` names.")] = None,
        out: Out = collection.out,
        debug: Debug = False,
    ) -> None:
        """Run experiments; a run that was stopped goes on where it was.

        With its own number of repeats, an experiment that says so looks again, longer, at cells that miss a claim.
        """
        with _ending(debug):
            for e in collection.named(names):
                start = time.monotonic()
                path = run(e, out, repeats=repeats, jobs=jobs, seed=seed, variant=variant)
                if repeats is None:
                    run_again(e, out, jobs=jobs, seed=seed, variant=variant)
                outcome.write(f"{path} ({time.monotonic() - start:.0f} s)\n")


def _add_figure(app: typer.Typer, collection: Collection) -> None:
    @app.command("figure")
    def draw_figures(
        names: Names,
        out: Out = collection.out,
        to: Annotated[Path | None, typer.Option(help="Folder of the figures; that of the tables by default.")] = None,
    ) -> None:
        """Draw figures from the tables, as PNG and SVG."""
        with _ending():
            for e in collection.named(names):
                for path in render(e, collection.results(e, out), to or out):
                    outcome.write(f"{path}\n")


def _add_check(app: typer.Typer, collection: Collection) -> None:
    @app.command("check")
    def check_experiments(names: Names, out: Out = collection.out) -> None:
        """Compare the tables with what they must show; exit code 1 for a miss without a written explanation."""
        with _ending():
            missed = 0
            for e in collection.named(names):
                verdicts = check(e, collection.results(e, out))
                missed += sum(verdict.word == MISSES for verdict in verdicts)
                outcome.write(render_check(e, verdicts) + "\n\n")
        raise typer.Exit(_MISSED if missed else 0)


def _add_page(app: typer.Typer, collection: Collection) -> None:
    @app.command("page")
    def make_page(
        out: Out = collection.out,
        to: Annotated[Path, typer.Option(help="Folder of the page, its figures and tables.")] = collection.page,
    ) -> None:
        """Write the page that shows every figure beside what is said of it."""
        with _ending():
            outcome.write(f"{write_page(collection, out, to)}\n")
