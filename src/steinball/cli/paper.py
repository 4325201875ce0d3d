"""``steinball paper``: list, run, draw and check the paper's experiments."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from steinball.cli import outcome
from steinball.paper import EXPERIMENTS, Experiment, experiment
from steinball.paper.check import MISSES, check, render_check
from steinball.paper.figures import render
from steinball.paper.page import write_page
from steinball.paper.run import run
from steinball.paper.table import read_results

__all__ = ["app"]

app = typer.Typer(
    help="The paper's experiments: run them, draw their figures, check what they must show.", no_args_is_help=True
)

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Experiments, or all.")]
Out = Annotated[Path, typer.Option(help="Folder of the tables.")]

_OUT = Path("out/paper")
_PAGE = Path("docs/paper")


def _named(names: list[str]) -> list[Experiment]:
    return list(EXPERIMENTS.values()) if names == ["all"] else [experiment(name) for name in names]


@app.command("list")
def list_experiments() -> None:
    """Name every experiment, with its repeats and variants."""
    with outcome.ending():
        width = max(len(name) for name in EXPERIMENTS)
        for e in EXPERIMENTS.values():
            variants = ", ".join(e.variants)
            outcome.write(f"{e.name:{width}s}  {e.title} ({e.reference}; {e.repeats} repeats; {variants})\n")


@app.command("run")
def run_experiments(
    names: Names,
    repeats: Annotated[int | None, typer.Option(help="Repeats of every cell; the paper's number by default.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the whole experiment.")] = 0,
    variant: Annotated[str | None, typer.Option(help="published, text or another that `list` names.")] = None,
    out: Out = _OUT,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    """Run experiments; a run that was stopped goes on where it was."""
    with outcome.ending(debug=debug):
        for e in _named(names):
            start = time.monotonic()
            path = run(e, out, repeats=repeats, jobs=jobs, seed=seed, variant=variant)
            outcome.write(f"{path} ({time.monotonic() - start:.0f} s)\n")


@app.command("figure")
def draw_figures(
    names: Names,
    out: Out = _OUT,
    to: Annotated[Path | None, typer.Option(help="Folder of the figures; that of the tables by default.")] = None,
) -> None:
    """Draw figures from the tables, as PNG and SVG."""
    with outcome.ending():
        for e in _named(names):
            for path in render(e, read_results(out / f"{e.name}.csv"), to or out):
                outcome.write(f"{path}\n")


@app.command("check")
def check_experiments(names: Names, out: Out = _OUT) -> None:
    """Compare the tables with what the paper must show; exit code 1 for a miss without a written explanation."""
    with outcome.ending():
        missed = 0
        for e in _named(names):
            verdicts = check(e, read_results(out / f"{e.name}.csv"))
            missed += sum(verdict.word == MISSES for verdict in verdicts)
            outcome.write(render_check(e, verdicts) + "\n\n")
    raise typer.Exit(1 if missed else 0)


@app.command("page")
def make_page(
    out: Out = _OUT,
    to: Annotated[Path, typer.Option(help="Folder of the page, its figures and aggregated tables.")] = _PAGE,
) -> None:
    """Write the page that shows every figure beside what the paper says of it."""
    with outcome.ending():
        outcome.write(f"{write_page(list(EXPERIMENTS.values()), out, to)}\n")
