"""The commands: read arguments, call the library, print, and end with the right code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

import steinball as sb
from steinball.cli import outcome
from steinball.cli.datafiles import read_samples
from steinball.cli.demo import render_demo
from steinball.cli.guard import NOT_REJECTED, REJECTED, Decision
from steinball.cli.specs import kernel_from, model_from, parse_share
from steinball.cli.userfile import python_file
from steinball.results import Result

__all__ = ["app"]

app = typer.Typer(
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
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo() -> None:
    """Test a model of galaxy velocities, with and without outliers, by the standard and the robust test."""
    with outcome.ending():
        outcome.show(render_demo())


@app.command("test")
def run_test(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="CSV, NPY, NPZ or Parquet file; - reads CSV from standard input.")
    ],
    model: Annotated[
        str | None,
        typer.Option(help="Built-in model such as normal:mean=0,sd=1, or FILE.py:NAME of a score or a model."),
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
            help="boundary (the default), weighted (the paper's) or wild bootstrap; for finite samples betting or "
            "deviation. With --fit projected or refit."
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Number of bootstrap draws.")] = 999,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    tau: Annotated[
        str | None,
        typer.Option(
            help="Bound of the Stein kernel: best, auto (a proven one), sample, optimized or a number; by default "
            "best, with --radius or --jumps sample, for betting and deviation auto."
        ),
    ] = None,
    jumps: Annotated[
        bool, typer.Option("--jumps", help="Jump between the modes of the model first, so that their weights are seen.")
    ] = False,
    kernel: Annotated[
        str, typer.Option(help="imq, gaussian or matern, with parameters such as imq:lengthscale=2.")
    ] = "imq",
    aggregate: Annotated[
        bool, typer.Option("--aggregate", help="Several length scales at once instead of one; needs --contamination.")
    ] = False,
    columns: Annotated[
        str | None, typer.Option(help="Columns to read: names, or positions from 1, with commas.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Which array of an NPZ file to read.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line of a CSV file names the columns."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="How pairs of points are worked through: auto, dense, blocked or lowrank.")
    ] = "auto",
    jobs: Annotated[int | None, typer.Option(help="Number of threads; all cores by default.")] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory that may be used, such as 2GB; half of what is free by default.")
    ] = None,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress, also on a terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    """Test whether DATA could come from a model, up to a stated amount of contamination.

    The exit code is 0 when the model is not rejected, 1 when it is, 2 when there is no decision, 130 after Ctrl-C.
    """
    with outcome.ending(user_file=python_file(model or log_density), debug=debug):
        samples = read_samples(data, columns=columns, key=key, header=header, memory_limit=memory_limit)
        setup = _Setup(contamination, radius, kernel, jumps, aggregate)
        shared: dict[str, Any] = {"level": level, "rng": seed, "engine": engine, "n_jobs": jobs}
        shared |= {"memory_limit": memory_limit, "progress": False if no_progress else "auto"}
        if fit is not None:
            _check_family(setup, {"--model": model, "--log-density": log_density, "--backend": backend, "--tau": tau})
            result = _run_family(samples, fit, setup, _family_calibration(calibration, setup, resamples), shared)
        else:
            chosen = _calibration(calibration or "boundary", resamples)
            with outcome.foreign_code():  # what the user's own file prints is not our output
                named = model_from(model, log_density, dimension=samples.shape[1], backend=backend)
                options = {"calibration": chosen, "tau": _tau(tau, chosen, contamination, jumps), **shared}
                result = _run(samples, named, setup, **options)
        _print_result(result, as_json)
    raise Decision(REJECTED if result.rejected else NOT_REJECTED)


@dataclass(frozen=True)
class _Setup:
    """What is tolerated, and how the data are looked at."""

    contamination: float | None
    radius: float | None
    kernel: str
    jumps: bool
    aggregate: bool

    def check(self) -> None:
        """Exactly one tolerance; several length scales go with a share alone."""
        if (self.radius is None) == (self.contamination is None):
            raise ValueError(
                "give one of `--contamination` (a share) and `--radius` (a distance); see steinball test --help."
            )
        if self.aggregate and (self.contamination is None or self.jumps or self.kernel != "imq"):
            raise ValueError("`--aggregate` goes with `--contamination`, and without `--kernel` and `--jumps`.")


def _run(samples: Any, model: Any, setup: _Setup, **options: Any) -> Result:
    setup.check()
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
_BOOTSTRAPS = {"boundary": sb.BoundaryBootstrap, "weighted": sb.WeightedBootstrap, "wild": sb.WildBootstrap}


def _calibration(name: str, resamples: int) -> Any:
    if name in _BOUNDS:
        return _BOUNDS[name]()
    if name in _BOOTSTRAPS:
        return _BOOTSTRAPS[name](resamples)
    known = ", ".join([*_BOOTSTRAPS, *_BOUNDS])
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


def _print_result(result: Result, as_json: bool) -> None:
    if as_json:
        outcome.write(json.dumps(result.to_dict(), allow_nan=False, indent=2) + "\n")
    else:
        outcome.show(result.summary())
