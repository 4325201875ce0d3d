"""The commands: options in, a call of the library, an answer and an exit code out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import steinball as sb
from steinball.cli import outcome
from steinball.cli.datafiles import read_table
from steinball.cli.demo import demonstrate
from steinball.cli.feed import check_watch, held, open_feed, start_monitor, watch
from steinball.cli.predictions import read_predictions
from steinball.cli.specs import as_share, kernel_from, load, model_from, python_file, standard_words
from steinball.evidence.base import CLOSE, GOOD_ENOUGH
from steinball.show.comparison import save_comparison
from steinball.show.pictures import save_axes
from steinball_command.guard import NOT_REJECTED, NOT_SHOWN, REJECTED
from steinball_command.options import (
    Check,
    Compare,
    DataFile,
    Demo,
    GoodnessOfFit,
    Method,
    Model,
    Models,
    PredictionCheck,
    Question,
    Tolerance,
    Watch,
    Work,
)


def run(options: Any) -> int:
    """Run the command that these are the options of, and return its exit code."""
    return _COMMANDS[type(options)](options)


def run_demo(options: Demo) -> int:
    """``steinball demo``: two models of weekly wages, one of which is good enough."""
    with outcome.ending():
        outcome.show(demonstrate(options.output))
    return NOT_REJECTED


def run_test(options: GoodnessOfFit) -> int:
    """``steinball test``: one test of a file."""
    file, model, output = options.file, options.model, options.output
    with outcome.ending(debug=output.debug):
        _check(options)
        outcome.check_files(output)
        table = read_table(file, options.work.memory_limit).drawn(file.max_rows, options.method.seed)
        with outcome.foreign_code():  # what the user's own file prints is not our output
            found = (_known_model if model.fit is None else _family)(table.samples, options)
            result = found._called(outcome.command_line(table), table.names)
            outcome.write_files(output, result, table, Path(file.data).name)
        outcome.print_result(output, result, table, standard_words(model.model) if result.rejected else "")
    return _code(result, options.tolerance.require)


def run_check(options: Check) -> int:
    """``steinball check``: all tests that a model allows, and one verdict."""
    file, model, question, output = options.file, options.model, options.question, options.output
    with outcome.ending(debug=output.debug):
        shares = _shares(question)
        outcome.check_files(output)
        table = read_table(file, None).drawn(file.max_rows, question.seed)
        with outcome.foreign_code():
            found = model_from(model, table.samples.shape[1]) if model.fit is None else _named_family(model)
            result = sb.check(
                table.samples, found, **shares, level=as_share(question.level, "--level"), rng=question.seed
            )
            _check_required(result, question.require)
            result = result._called(outcome.command_line(table), table.names)
            outcome.write_files(output, result, table, Path(file.data).name)
        outcome.print_result(output, result, table, standard_words(model.model) if result.rejected else "")
    return _code(result, question.require)


def _shares(question: Question) -> dict[str, Any]:
    """What is tolerated, by exactly one of two words; both are explained where that is not so."""
    words = {"contamination": question.contamination, "tolerance": question.tolerance}
    given = {name: as_share(text, f"--{name}") for name, text in words.items() if text is not None}
    if len(given) != 1:
        raise ValueError(
            "give one of `--contamination 5%` (some rows are garbage, the others an honest sample of the model) and "
            "`--tolerance 5%` (in no region may the shares of data and model differ by more than 5 points)."
        )
    if question.require not in (None, "good-enough", "close"):
        raise ValueError(f"`--require` must be good-enough or close, got `{question.require}`.")
    if question.require is not None and not sum(given.values()):
        raise ValueError("`--require` needs a tolerance above 0: no data show that a model is exactly right.")
    return given


def _check_required(result: Any, require: str | None) -> None:
    """Refuse to require of a model what its tests cannot show."""
    if require == "good-enough" and "regions" not in result.parts:
        raise ValueError(
            "`--require good-enough` needs a model that can be drawn from, and this one has a score alone: give it "
            "`sample(n, rng)`, or use `--require close`."
        )


def _named_family(model: Any) -> Any:
    if model.model is not None or model.log_density is not None:
        raise ValueError("give one of `--model`, `--log-density` and `--fit`.")
    return load(model.fit) if python_file(model.fit) else model.fit


def run_compare(options: Compare) -> int:
    """``steinball compare``: which of several models is closer to a file."""
    file, question, output = options.file, options.question, options.output
    with outcome.ending(debug=output.debug):
        named = _named_specs(options.models)
        share, level = as_share(question.contamination, "--contamination"), as_share(question.level, "--level")
        outcome.check_files(output)
        table = read_table(file).drawn(file.max_rows, question.seed)
        with outcome.foreign_code():
            models = {name: _compared(spec, fit, table.samples.shape[1]) for name, (spec, fit) in named.items()}
            found = sb.compare(table.samples, models, contamination=share, level=level, rng=question.seed)
            result = found._called(outcome.command_line(table), table.names)
            if output.report is not None:
                result.report(output.report, title=Path(file.data).name)
            if output.plot is not None:
                save_comparison(result, output.plot)
        outcome.print_result(output, result, table)
    return NOT_REJECTED


def run_monitor(options: Watch) -> int:
    """``steinball monitor``: alarms for the rows of a feed."""
    promise, state, file = options.promise, options.state, DataFile(**vars(options.feed))
    with outcome.ending(debug=state.debug):
        check_watch(promise, state)
        with held(state.state), open_feed(file) as feed:
            with outcome.foreign_code():
                monitor = start_monitor(promise, state, feed.columns)
            alarms = watch(monitor, feed, state)
        if state.plot is not None:
            save_axes(monitor.plot, 1, state.plot)
    return REJECTED if alarms else NOT_REJECTED


def run_predictive(options: PredictionCheck) -> int:
    """``steinball predictive``: predictions in the columns of a file."""
    file, question, output = options.file, options.question, options.output
    with outcome.ending(debug=output.debug):
        shares, level = _shares(question), as_share(question.level, "--level")
        outcome.check_files(output)
        table, columns = read_predictions(file, options.predicted)
        table = table.drawn(file.max_rows, question.seed)
        settings: dict[str, Any] = {**shares, "level": level, "rng": question.seed, **vars(options.simulation)}
        settings["n_resamples"] = settings.pop("resamples")
        result = sb.predictive_test(**columns.read(table), **settings)
        result = result._called(outcome.command_line(table), ())
        outcome.write_files(output, result, table, Path(file.data).name)
        outcome.print_result(output, result, table)
    return _code(result, question.require)


_COMMANDS: dict[type, Callable[[Any], int]] = {
    Check: run_check,
    Compare: run_compare,
    Demo: run_demo,
    GoodnessOfFit: run_test,
    PredictionCheck: run_predictive,
    Watch: run_monitor,
}


def _named_specs(models: Models) -> dict[str, tuple[str, bool]]:
    """``NAME=SPEC`` of each model, and whether it is to be fitted."""
    named: dict[str, tuple[str, bool]] = {}
    for option, text in [("--model", text) for text in models.model or ()] + [
        ("--fit", text) for text in models.fit or ()
    ]:
        name, equals, spec = (part.strip() for part in text.partition("="))
        if not (name and equals and spec) or ":" in name:
            raise ValueError(f"`{option} {text}` must begin with a name, as in `{option} first={text}`.")
        if name in named:
            raise ValueError(f"`{option} {text}`: the name `{name}` is given twice.")
        named[name] = spec, option == "--fit"
    if len(named) < 2:
        raise ValueError("give two models or more: `--model NAME=MODEL` or `--fit NAME=FAMILY` for each.")
    return named


def _compared(spec: str, fit: bool, columns: int) -> Any:
    """A model, or the family that is fitted."""
    if fit:
        return load(spec) if python_file(spec) else spec
    return model_from(Model(spec), columns)


def _code(result: Any, require: str | None) -> int:
    """The exit code of a decision."""
    if result.rejected:
        return REJECTED
    shown = {None: (result.verdict,), "close": (CLOSE, GOOD_ENOUGH), "good-enough": (GOOD_ENOUGH,)}
    return NOT_REJECTED if result.verdict in shown[require] else NOT_SHOWN


def _check(options: GoodnessOfFit) -> None:
    """Refuse options that do not go together, before anything is read."""
    tolerance, method, family = options.tolerance, options.method, options.model.fit is not None
    if not family and (tolerance.radius is None) == (tolerance.contamination is None):
        raise ValueError("give one of `--contamination` (a share) and `--radius` (a distance).")
    share, _ = _share(tolerance), as_share(tolerance.level, "--level")
    radius = _radius(tolerance) if python_file(tolerance.radius) is None else tolerance.radius  # the file is run later
    if method.aggregate and (share is None or method.jumps or method.kernel != "imq"):
        raise ValueError("`--aggregate` goes with `--contamination`, and without `--kernel` and `--jumps`.")
    if tolerance.require not in (None, "close", *["good-enough"] * family):  # families are compared in regions
        raise ValueError(
            f"`--require` must be close, got `{tolerance.require}`: this test compares scores, which say how close a "
            "model is in KSD, and not whether it is good enough. `steinball check … --require good-enough` says that."
        )
    if tolerance.require is not None and (method.aggregate or not (share or radius)):
        raise ValueError(
            f"`--require {tolerance.require}` needs a tolerance above 0 and one length scale: nothing else can be "
            "shown to be close enough. Give `--contamination 5%`, without `--aggregate`."
        )
    if options.file.max_rows is not None and options.file.max_rows < 2:
        raise ValueError(f"`--max-rows` must be at least 2, got {options.file.max_rows}.")


def _share(tolerance: Tolerance) -> float | None:
    """The tolerated share of contamination, if one is given."""
    return None if tolerance.contamination is None else as_share(tolerance.contamination, "--contamination")


def _radius(tolerance: Tolerance) -> Any:
    """The tolerated distance, or the tolerated set in a user's own file."""
    if python_file(tolerance.radius):
        return load(str(tolerance.radius))
    try:
        return float(tolerance.radius or 0.0)
    except ValueError:
        raise ValueError(f"`--radius` must be a number or FILE.py:NAME, got `{tolerance.radius}`.") from None


def _settings(tolerance: Tolerance, method: Method, work: Work) -> dict[str, Any]:
    """What every test of the library takes."""
    level = as_share(tolerance.level, "--level")
    progress: bool | str = False if work.no_progress else "auto"
    how = {"engine": work.engine, "n_jobs": work.jobs, "memory_limit": work.memory_limit, "progress": progress}
    return {"level": level, "rng": method.seed, **how}


def _known_model(samples: Any, options: GoodnessOfFit) -> Any:
    tolerance, method, share = options.tolerance, options.method, _share(options.tolerance)
    calibration = _calibration(method.calibration or "boundary", method.resamples, _CALIBRATIONS)
    model = model_from(options.model, samples.shape[1])
    settings = _settings(tolerance, method, options.work)
    settings |= {"calibration": calibration, "tau": _tau(method, calibration, share)}
    if method.aggregate and share is not None:
        return sb.robust_ksdagg_test(samples, model, share, **settings)
    settings |= {"kernel": _kernel(method, samples), "jumps": "auto" if method.jumps else None}
    if share is not None:
        return sb.robust_ksd_test(samples, model, contamination=share, **settings)
    return sb.ksd_test(samples, model, radius=_radius(tolerance), **settings)


def _family(samples: Any, options: GoodnessOfFit) -> Any:
    """A family has its parameters fitted; what describes a known model does not go with it."""
    model, method, share = options.model, options.method, _share(options.tolerance) or 0.0
    assert model.fit is not None
    others: dict[str, Any] = {"--model": model.model, "--log-density": model.log_density, "--backend": model.backend}
    others |= {"--tau": method.tau, "--jumps": method.jumps or None, "--aggregate": method.aggregate or None}
    for name in (name for name, given in {**others, "--radius": options.tolerance.radius}.items() if given is not None):
        raise ValueError(f"`--fit` tests a family with fitted parameters and goes without `{name}`.")
    calibration = None
    if not share or method.calibration is not None:
        name = method.calibration or "projected"
        calibration = _calibration(name, method.resamples, _FOR_FAMILIES, " with `--fit`")
    settings = _settings(options.tolerance, method, options.work)
    settings |= {"calibration": calibration, "kernel": _kernel(method, samples)}
    family = load(model.fit) if python_file(model.fit) else model.fit
    return sb.fit_test(samples, family, contamination=share, **settings)


def _kernel(method: Method, samples: Any) -> Any:
    return None if method.kernel == "imq" else kernel_from(method.kernel, samples)


_CALIBRATIONS: dict[str, Callable[[int], Any]] = {
    "boundary": partial(sb.BoundaryBootstrap, scheme="scaled"),
    "weighted": sb.WeightedBootstrap,
    "wild": sb.WildBootstrap,
    "exact": sb.MonteCarlo,
    "betting": lambda resamples: sb.Betting(),
    "deviation": lambda resamples: sb.DeviationBound(),
}
_FOR_FAMILIES: dict[str, Callable[[int], Any]] = {
    "projected": sb.ProjectedBootstrap,
    "refit": sb.RefitBootstrap,
}


def _calibration(name: str, resamples: int, known: dict[str, Callable[[int], Any]], when: str = "") -> Any:
    if python_file(name):
        return load(name)
    if name not in known:
        raise ValueError(f"`--calibration` must be one of {', '.join(known)} or FILE.py:NAME{when}, got `{name}`.")
    return known[name](resamples)


def _tau(method: Method, calibration: Any, share: float | None) -> str | float:
    if method.tau is None:
        of_sample = (share is None or method.jumps) and not calibration.needs_upper_bound
        return "sample" if of_sample else str(calibration.default_tau)
    if method.tau in {"best", "auto", "sample", "optimized"}:
        return method.tau
    try:
        return float(method.tau)
    except ValueError:
        raise ValueError(f"`--tau` must be best, auto, sample, optimized or a number, got `{method.tau}`.") from None
