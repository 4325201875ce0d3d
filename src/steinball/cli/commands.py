"""The commands: read arguments, call the library, print, and end with the right code."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import steinball as sb
from steinball.cli import outcome
from steinball.cli.datafiles import read_table
from steinball.cli.demo import run_demo
from steinball.cli.guard import NOT_REJECTED, NOT_SHOWN, REJECTED, Decision
from steinball.cli.products import Products, Rows
from steinball.cli.specs import kernel_from, model_from, parse_share, standard_words
from steinball.cli.userfile import python_file
from steinball.results import Result
from steinball.text import wrap


class _PlainHelp:
    """Of a flag the help says nothing, where typer says <bool>."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


class _Plain(_PlainHelp, TyperCommand):
    """A command."""


class _PlainGroup(_PlainHelp, TyperGroup):
    """Several of them."""


app = typer.Typer(
    cls=_PlainGroup,
    name="steinball",
    help="Robust kernel Stein goodness-of-fit tests: is the data inside a ball around your model?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"steinball {sb.__version__}")
        raise typer.Exit()


@app.callback()
def _steinball(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command(cls=_Plain)
def demo(
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to put the picture and the report; a new folder else.")
    ] = None,
) -> None:
    """Test a model of galaxy velocities, with and without outliers, by the standard and the robust test."""
    with outcome.ending():
        outcome.show(run_demo(output))


@app.command("test", cls=_Plain)
def run_test(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="CSV, NPY, NPZ or Parquet file; - reads CSV from standard input.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="Built-in model such as normal:mean=0,sd=1, one of SciPy such as scipy:gamma:a=2,scale=3, or "
            "FILE.py:NAME of a score or a model."
        ),
    ] = None,
    log_density: Annotated[
        str | None, typer.Option(help="FILE.py:NAME of a log density, up to a constant, in place of --model.")
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(help="What differentiates the log density: numerical (the default, for NumPy), torch or jax."),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Test a family, with its parameters fitted, in place of --model: normal, student-t, gamma, lognormal, "
            "weibull or mixture:3.",
        ),
    ] = None,
    contamination: Annotated[
        float | None,
        typer.Option(parser=parse_share, metavar="SHARE", help="Tolerated share of contamination, such as 0.05 or 5%."),
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="Tolerated distance, in place of --contamination; 0 is the standard test.")
    ] = None,
    level: Annotated[
        float, typer.Option(parser=parse_share, metavar="SHARE", help="Probability of a false rejection.")
    ] = 0.05,
    calibration: Annotated[
        str | None,
        typer.Option(
            help="boundary (the default), weighted (the paper's) or wild bootstrap; for finite samples exact (samples "
            "of the model), betting or deviation. With --fit projected or refit."
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Number of bootstrap draws.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    tau: Annotated[
        str | None,
        typer.Option(
            help="Bound of the Stein kernel: best, auto (a proven one), sample, optimized or a number; by default "
            "best, with --radius or --jumps sample, for exact, betting and deviation auto."
        ),
    ] = None,
    jumps: Annotated[
        bool,
        typer.Option(
            "--jumps", metavar="", help="Jump between the model's modes first, so that their weights are seen."
        ),
    ] = False,
    kernel: Annotated[
        str, typer.Option(help="imq, gaussian or matern, with parameters such as imq:lengthscale=2.")
    ] = "imq",
    aggregate: Annotated[
        bool,
        typer.Option("--aggregate", metavar="", help="Several length scales instead of one; needs --contamination."),
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns to read: names, positions from 1, ranges (2-5) or patterns (emb_*), with commas."),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="What to do with rows that have a missing value: error, or drop them.")
    ] = "error",
    decimal: Annotated[
        str | None, typer.Option(help="What stands before the fraction of a number in a CSV file: . or a comma.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Which array of an NPZ file to read.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", metavar="", help="Whether the first line of a CSV file has names."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="How pairs of points are worked through: auto, dense, blocked or lowrank.")
    ] = "auto",
    jobs: Annotated[int | None, typer.Option(help="Number of threads; all cores by default.")] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory that may be used, such as 2GB; half of what is free by default.")
    ] = None,
    no_progress: Annotated[
        bool, typer.Option("--no-progress", metavar="", help="Show no progress, also on a terminal.")
    ] = False,
    max_rows: Annotated[
        int | None, typer.Option(metavar="N", help="Test a random N of the rows, drawn by --seed; it says so.")
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(metavar="VERDICT", help="good-enough: end with 3 unless the model is shown to be close enough."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page to hand over, with everything in it.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Write the picture: PNG, PDF or SVG; needs matplotlib.")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", metavar="", help="Print a table of everything in place of four lines.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")] = False,
    debug: Annotated[bool, typer.Option("--debug", metavar="", help="Print the traceback of an error.")] = False,
) -> None:
    """Test whether DATA could come from a model, up to a stated amount of contamination.

    The exit code is 0 when the model is not rejected, 1 when it is, 2 when there is no decision, 130 after Ctrl-C; with
    --require good-enough it is 3 when the data show neither a misfit nor that the model is close enough.
    """
    with outcome.ending(user_file=python_file(model or log_density), debug=debug):
        setup, products = _Setup(contamination, radius, kernel, jumps, aggregate), Products(report, plot, max_rows)
        setup.check(require, family=fit is not None)
        products.check()
        layout = {"columns": columns, "key": key, "header": header, "missing": missing, "decimal": decimal}
        table = read_table(data, **layout, memory_limit=memory_limit)  # type: ignore[arg-type]
        rows = Rows.of(table, max_rows, seed)
        shared: dict[str, Any] = {"level": level, "rng": seed, "engine": engine, "n_jobs": jobs}
        shared |= {"memory_limit": memory_limit, "progress": False if no_progress else "auto"}
        with outcome.foreign_code():  # what the user's own file prints is not our output
            if fit is not None:
                others = {"--model": model, "--log-density": log_density, "--backend": backend, "--tau": tau}
                _check_family(setup, others)
                chosen = _family_calibration(calibration, setup, resamples)
                result = _run_family(rows.samples, fit, setup, chosen, shared)
            else:
                chosen = _calibration(calibration or "boundary", resamples)
                named = model_from(model, log_density, dimension=rows.samples.shape[1], backend=backend)
                options = {"calibration": chosen, "tau": _tau(tau, chosen, contamination, jumps), **shared}
                result = _run(rows.samples, named, setup, **options)
            call = f"{shlex.join(['steinball', *sys.argv[1:]])}\n{rows.sentence().strip()}".strip()
            result = result._called(call, rows.names)
            products.write(result, rows, title=Path(data).name)
        _print_result(result, rows, as_json, details, standard_words(model))
    raise Decision(_code(result, require))


def _code(result: Result, require: str | None) -> int:
    """The exit code of a decision."""
    if result.rejected:
        return REJECTED
    return NOT_SHOWN if require is not None and result.verdict != "good enough" else NOT_REJECTED


@dataclass(frozen=True)
class _Setup:
    """What is tolerated, and how the data are looked at."""

    contamination: float | None
    radius: float | None
    kernel: str
    jumps: bool
    aggregate: bool

    def check(self, require: str | None, *, family: bool = False) -> None:
        """Exactly one tolerance, or none for a family; several length scales go with a share alone; what is required
        can be shown."""
        if not family and (self.radius is None) == (self.contamination is None):
            raise ValueError(
                "give one of `--contamination` (a share) and `--radius` (a distance); see steinball test --help."
            )
        if self.contamination is not None and self.contamination > 1.0:
            raise ValueError(f"`--contamination` must be a share such as 0.05 or 5%, got {self.contamination:g}.")
        if self.aggregate and (self.contamination is None or self.jumps or self.kernel != "imq"):
            raise ValueError("`--aggregate` goes with `--contamination`, and without `--kernel` and `--jumps`.")
        if require not in (None, "good-enough"):
            raise ValueError(f"`--require` must be good-enough, got `{require}`.")
        if require is not None and (self.aggregate or not (self.contamination or self.radius)):
            raise ValueError(
                "`--require good-enough` needs a tolerance above 0 and one length scale: nothing else can be shown to "
                "be close enough. Give `--contamination 5%`, without `--aggregate`."
            )


def _run(samples: Any, model: Any, setup: _Setup, **options: Any) -> Result:
    if setup.aggregate and setup.contamination is not None:
        return sb.robust_ksdagg_test(samples, model, setup.contamination, **options)
    options |= {
        "kernel": None if setup.kernel == "imq" else kernel_from(setup.kernel, samples),
        "jumps": "auto" if setup.jumps else None,
    }
    if setup.contamination is not None:
        return sb.robust_ksd_test(samples, model, contamination=setup.contamination, **options)
    return sb.ksd_test(samples, model, radius=setup.radius or 0.0, **options)


def _check_family(setup: _Setup, others: dict[str, str | None]) -> None:
    """A family has its parameters fitted; what describes a known model does not go with it."""
    switches = {"--jumps": setup.jumps, "--aggregate": setup.aggregate, "--radius": setup.radius is not None}
    for name in [name for name, given in {**others, **switches}.items() if given not in (None, False)]:
        raise ValueError(f"`--fit` tests a family with fitted parameters and goes without `{name}`.")


def _run_family(samples: Any, family: str, setup: _Setup, calibration: Any, shared: dict[str, Any]) -> Result:
    kernel = None if setup.kernel == "imq" else kernel_from(setup.kernel, samples)
    share = setup.contamination or 0.0
    return sb.fit_test(samples, family, contamination=share, calibration=calibration, kernel=kernel, **shared)


_FOR_FAMILIES = {
    "projected": sb.ProjectedBootstrap, "refit": sb.RefitBootstrap, "boundary": sb.BoundaryBootstrap,
}  # fmt: skip


def _family_calibration(name: str | None, setup: _Setup, resamples: int) -> Any:
    if name is None:
        name = "boundary" if setup.contamination else "projected"
    if name not in _FOR_FAMILIES:
        raise ValueError(f"`--calibration` must be one of {', '.join(_FOR_FAMILIES)} with `--fit`, got `{name}`.")
    return _FOR_FAMILIES[name](resamples)


_BOUNDS = {"betting": sb.Betting, "deviation": sb.DeviationBound}
_SAMPLED: dict[str, Callable[[int], Any]] = {
    "boundary": partial(sb.BoundaryBootstrap, scheme="scaled"),
    "weighted": sb.WeightedBootstrap,
    "wild": sb.WildBootstrap,
    "exact": sb.MonteCarlo,
}


def _calibration(name: str, resamples: int) -> Any:
    if name in _BOUNDS:
        return _BOUNDS[name]()
    if name in _SAMPLED:
        return _SAMPLED[name](resamples)
    known = ", ".join([*_SAMPLED, *_BOUNDS])
    raise ValueError(f"`--calibration` must be one of {known}, got `{name}`.")


def _tau(text: str | None, calibration: Any, contamination: float | None, jumps: bool) -> str | float:
    if text is None:
        of_sample = (contamination is None or jumps) and not calibration.needs_upper_bound
        return "sample" if of_sample else str(calibration.default_tau)
    if text in {"best", "auto", "sample", "optimized"}:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"`--tau` must be best, auto, sample, optimized or a number, got `{text}`.") from None


def _print_result(result: Result, rows: Rows, as_json: bool, details: bool, model: str) -> None:
    if as_json:
        told = {**result.to_dict(), **rows.to_dict()}
        outcome.write(json.dumps(told, allow_nan=False, indent=2) + "\n")
    else:
        meant = wrap(model) if model and result.rejected else ""
        outcome.show("\n".join(filter(None, [result.summary(details), rows.sentence(), meant])))
