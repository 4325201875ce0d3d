"""The commands: options in, a call of the library, an answer and an exit code out."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import steinball as sb
import steinball_command.options as opt
from steinball.cli import outcome
from steinball.cli.csvtext import TextRows, complete_rows
from steinball.cli.datafiles import open_feed, read_table
from steinball.cli.specs import kernel_from, load, model_from, python_file
from steinball.cli.table import Table, prediction_columns, predictions_of
from steinball.evidence.base import CLOSE, GOOD_ENOUGH
from steinball.files import only_writer
from steinball.show.pictures import check_picture, save_axes
from steinball.text import count, wrap
from steinball_command.guard import NOT_REJECTED, NOT_SHOWN, REJECTED, say, write


def run(options: Any) -> int:
    """Run the command that these are the options of, and return its exit code."""
    with outcome.ending(debug=isinstance(options, opt.Output | opt.State) and options.debug):
        return _COMMANDS[type(options)](options)


def run_demo(options: opt.Demo) -> int:
    """``steinball demo``: two models of weekly wages, one of which is good enough."""
    outcome.show(demonstrate(options.output))
    return NOT_REJECTED


def run_test(check: Callable[[Any], Any], test: Callable[[Table, Any], Any], options: Any) -> int:
    """A command that tests the rows of a file: ``check`` refuses options before anything is read."""
    check(options)
    if options.max_rows is not None and options.max_rows < 2:
        raise ValueError(f"`--max-rows` must be at least 2, got {options.max_rows}.")
    _check_files(options)
    table = _read(options).drawn(options.max_rows, options.seed)
    with outcome.foreign_code():  # what the user's own file prints is not our output
        names = () if isinstance(options, opt.PredictionCheck) else table.names
        result = test(table, options)._called(_command_line(table), names)
        _write_files(options, result, table)
    _print_result(options, result, table)
    return NOT_REJECTED if isinstance(options, opt.Compare) else _code(result, options.require)


def _read(options: Any) -> Table:
    if not isinstance(options, opt.PredictionCheck):
        return read_table(options, options.memory_limit if isinstance(options, opt.Work) else None)
    try:
        return read_table(replace(options, columns=",".join(prediction_columns(options))))
    except ValueError as error:  # the columns were named by other options
        raise ValueError(str(error).replace("`--columns`: ", "").replace("`--columns ", "`")) from None


def _check_files(output: opt.Output) -> None:
    """Refuse files that could not be written, before anything is computed."""
    for path in (Path(name) for name in (output.report, output.plot) if name is not None):
        if not path.absolute().parent.is_dir():
            raise ValueError(f"`{path}`: the folder {path.absolute().parent} does not exist; make it first.")
    if output.report is not None and Path(output.report).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"`--report {output.report}` is a page and must end in .html.")
    if output.plot is not None:
        check_picture(output.plot)


def _command_line(table: Table) -> str:
    """The command as it was typed, and which rows of the file it tested where these are not all."""
    return "\n".join(filter(None, [shlex.join(["steinball", *sys.argv[1:]]), table.sentence().strip()]))


def _write_files(options: Any, result: Any, table: Table) -> None:
    """Write the report and the picture; those of a comparison name no rows."""
    named = {} if isinstance(options, opt.Compare) else {"data": table.labels}
    if options.report is not None:
        result.report(options.report, title=Path(options.data).name, **named)
    if options.plot is not None:
        result.plot(options.plot, **named)


def _print_result(output: opt.Output, result: Any, table: Table) -> None:
    """Print the answer, as JSON or for people."""
    if output.json:
        write(json.dumps({**result.to_dict(), **table.to_dict()}, allow_nan=False, indent=2) + "\n")
    else:
        outcome.show("\n".join(filter(None, [result.summary(output.details), table.sentence()])))


def _code(result: Any, require: str | None) -> int:
    """The exit code of a decision."""
    if result.rejected:
        return REJECTED
    shown = {None: (result.verdict,), "close": (CLOSE, GOOD_ENOUGH), "good-enough": (GOOD_ENOUGH,)}
    return NOT_REJECTED if result.verdict in shown[require] else NOT_SHOWN


# ``steinball check`` and ``steinball predictive``: one question in two words.


def _asked(question: opt.Question) -> dict[str, Any]:
    """What is tolerated, which exactly one of two options says, with level and seed."""
    shares = {"contamination": question.contamination, "tolerance": question.tolerance}
    given = {name: share for name, share in shares.items() if share is not None}
    if len(given) != 1:
        raise ValueError(
            "give one of `--contamination 5%` (some rows are garbage, the others an honest sample of the model) and "
            "`--tolerance 5%` (in no region may the shares of data and model differ by more than 5 points)."
        )
    if question.require not in (None, "good-enough", "close"):
        raise ValueError(f"`--require` must be good-enough or close, got `{question.require}`.")
    if question.require is not None and not sum(given.values()):
        raise ValueError("`--require` needs a tolerance above 0: no data show that a model is exactly right.")
    return {**given, "level": question.level, "rng": question.seed}


def _check(table: Table, options: opt.Check) -> Any:
    """All tests that a model allows, and one verdict."""
    result = sb.check(table.samples, model_from(options, table.samples.shape[1]), **_asked(options))
    if options.require == "good-enough" and "regions" not in result.parts:
        raise ValueError(
            "`--require good-enough` needs a model that can be drawn from, and this one has a score alone: give it "
            "`sample(n, rng)`, or use `--require close`."
        )
    return result


def _predictive(table: Table, options: opt.PredictionCheck) -> Any:
    """Predictions in the columns of a file."""
    how = {"rows": options.rows, "n_resamples": options.resamples, **_asked(options)}
    return sb.predictive_test(**predictions_of(table, options), **how)


# ``steinball compare``: which of several models is closer to a file.


def _compare(table: Table, options: opt.Compare) -> Any:
    how = {"contamination": options.contamination, "level": options.level, "rng": options.seed}
    models = {name: model_from(model, table.samples.shape[1]) for name, model in _named_models(options).items()}
    return sb.compare(table.samples, models, **how)


def _named_models(models: opt.Models) -> dict[str, opt.Model]:
    """What ``NAME=SPEC`` says of each model."""
    named: dict[str, opt.Model] = {}
    given = [("--model", text) for text in models.model or ()] + [("--fit", text) for text in models.fit or ()]
    for option, text in given:
        name, equals, spec = (part.strip() for part in text.partition("="))
        if not (name and equals and spec) or ":" in name:
            raise ValueError(f"`{option} {text}` must begin with a name, as in `{option} first={text}`.")
        if name in named:
            raise ValueError(f"`{option} {text}`: the name `{name}` is given twice.")
        named[name] = opt.Model(fit=spec) if option == "--fit" else opt.Model(spec)
    if len(named) < 2:
        raise ValueError("give two models or more: `--model NAME=MODEL` or `--fit NAME=FAMILY` for each.")
    return named


# ``steinball test``: one test of a file, with all of its settings.


def _check_test(options: opt.GoodnessOfFit) -> None:
    """Refuse options that do not go together, before anything is read."""
    family, require = options.fit is not None, options.require
    if not family and (options.radius is None) == (options.contamination is None):
        raise ValueError("give one of `--contamination` (a share) and `--radius` (a distance).")
    radius = _radius(options) if python_file(options.radius) is None else options.radius  # the file is run later
    if options.aggregate and (options.contamination is None or options.jumps or options.kernel != "imq"):
        raise ValueError("`--aggregate` goes with `--contamination`, and without `--kernel` and `--jumps`.")
    if require not in (None, "close", *["good-enough"] * family):  # families are compared in regions
        raise ValueError(
            f"`--require` must be close, got `{require}`: this test compares scores, which say how close a model is in "
            "KSD, and not whether it is good enough. `steinball check … --require good-enough` says that."
        )
    if require is not None and (options.aggregate or not (options.contamination or radius)):
        raise ValueError(
            f"`--require {require}` needs a tolerance above 0 and one length scale: nothing else can be shown to be "
            "close enough. Give `--contamination 5%`, without `--aggregate`."
        )


def _radius(options: opt.Tolerance) -> Any:
    """The tolerated distance, or the tolerated set in a user's own file."""
    if python_file(options.radius):
        return load(str(options.radius))
    try:
        return float(options.radius or 0.0)
    except ValueError:
        raise ValueError(f"`--radius` must be a number or FILE.py:NAME, got `{options.radius}`.") from None


def _test(table: Table, options: opt.GoodnessOfFit) -> Any:
    """One test of scores, of a known model or of a family."""
    settings: dict[str, Any] = {"level": options.level, "rng": options.seed, "engine": options.engine}
    settings |= {"n_jobs": options.jobs, "memory_limit": options.memory_limit}
    settings["progress"] = False if options.no_progress else "auto"
    if not options.aggregate:
        settings["kernel"] = None if options.kernel == "imq" else kernel_from(options.kernel, table.samples)
    return (_test_model if options.fit is None else _test_family)(table.samples, options, settings)


def _test_model(samples: Any, options: opt.GoodnessOfFit, settings: dict[str, Any]) -> Any:
    calibration = _calibration(options.calibration or "boundary", options.resamples, _CALIBRATIONS)
    model, share = model_from(options, samples.shape[1]), options.contamination
    settings |= {"calibration": calibration, "tau": _tau(options, calibration)}
    if options.aggregate:
        return sb.robust_ksdagg_test(samples, model, share, **settings)
    settings["jumps"] = "auto" if options.jumps else None
    if share is not None:
        return sb.robust_ksd_test(samples, model, contamination=share, **settings)
    return sb.ksd_test(samples, model, radius=_radius(options), **settings)


def _test_family(samples: Any, options: opt.GoodnessOfFit, settings: dict[str, Any]) -> Any:
    """A family has its parameters fitted; what describes a known model does not go with it."""
    for name in ("model", "log_density", "backend", "tau", "jumps", "aggregate", "radius"):
        if vars(options)[name] not in (None, False):
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"`--fit` tests a family with fitted parameters and goes without `{flag}`.")
    share, calibration = options.contamination or 0.0, None
    if not share or options.calibration is not None:
        name = options.calibration or "projected"
        calibration = _calibration(name, options.resamples, _FOR_FAMILIES, " with `--fit`")
    family = model_from(options, samples.shape[1])
    return sb.fit_test(samples, family, contamination=share, calibration=calibration, **settings)


_CALIBRATIONS: dict[str, Callable[[int], Any]] = {
    "boundary": partial(sb.BoundaryBootstrap, scheme="scaled"),
    "weighted": sb.WeightedBootstrap,
    "wild": sb.WildBootstrap,
    "exact": sb.MonteCarlo,
    "betting": lambda resamples: sb.Betting(),
    "deviation": lambda resamples: sb.DeviationBound(),
}
_FOR_FAMILIES: dict[str, Callable[[int], Any]] = {"projected": sb.ProjectedBootstrap, "refit": sb.RefitBootstrap}


def _calibration(name: str, resamples: int, known: dict[str, Callable[[int], Any]], when: str = "") -> Any:
    if python_file(name):
        return load(name)
    if name not in known:
        raise ValueError(f"`--calibration` must be one of {', '.join(known)} or FILE.py:NAME{when}, got `{name}`.")
    return known[name](resamples)


def _tau(options: opt.GoodnessOfFit, calibration: Any) -> str | float:
    if options.tau is None:
        of_sample = (options.contamination is None or options.jumps) and not calibration.needs_upper_bound
        return "sample" if of_sample else str(calibration.default_tau)
    try:
        return float(options.tau)
    except ValueError:
        return options.tau  # one of some words, which the test knows


# ``steinball monitor``: alarms as JSON for the rows of a feed as they come, and a state that survives a kill.


def run_monitor(options: opt.Watch) -> int:
    """``steinball monitor``: alarms for the rows of a feed."""
    _check_monitor(options)
    alone = nullcontext() if options.state is None else only_writer(options.state)
    with alone, open_feed(options) as feed:
        with outcome.foreign_code():
            monitor = _start_monitor(options, feed.columns)
        alarms = _watch(monitor, feed, options)
    if options.plot is not None:
        save_axes(monitor.plot, 1, options.plot)
    return REJECTED if alarms else NOT_REJECTED


def _check_monitor(options: opt.Watch) -> None:
    """Refuse what is missing and options that do not go together, before a row is read."""
    for missing in (name for name in ("model", "contamination") if vars(options)[name] is None):
        raise ValueError(f"give `--{missing}`, as in `--model normal:mean=0,sd=1 --contamination 5%`.")
    if options.again and options.state is None:
        raise ValueError("`--again` skips the rows that a state has counted; give `--state FILE.npz`.")
    if options.plot is not None:
        check_picture(options.plot)


def _start_monitor(options: opt.Watch, columns: int) -> sb.Monitor:
    """The monitor of a feed with so many columns: a new one, or the one that the file of the state holds."""
    share, run, state = options.contamination or 0.0, options.expected_run, options.state
    model = model_from(options, columns)
    if state is None or not Path(state).exists():
        return sb.Monitor(model, share, run)
    monitor = sb.Monitor.load(state, model)
    if (monitor.contamination, monitor.expected_run) != (share, run):
        raise ValueError(
            f"`{state}` is the state of `--contamination {monitor.contamination:g} --expected-run "
            f"{monitor.expected_run:g}`, got {share:g} and {run:g}. Give the same, or another file."
        )
    return monitor


def _watch(monitor: sb.Monitor, feed: TextRows, options: opt.Watch) -> int:
    """Take in all rows of a feed; the number of alarms.

    Alarms are written before the state: a process that is killed in between says them again, and loses none.
    """
    before = monitor.n_alarms
    try:
        for rows in complete_rows(feed, monitor.n if options.again else 0):
            with outcome.foreign_code():
                alarms = monitor.update(rows)
            lines = _row_lines(monitor, alarms) if options.every else [_alarm_line(alarm, feed) for alarm in alarms]
            if lines:
                write("".join(f"{line}\n" for line in lines))
            if options.state is not None:
                monitor.save(options.state)
    finally:  # also after an error: the rows behind these are to be fed again
        say(f"{count(monitor.n, 'row')} so far, {count(monitor.n_alarms, 'alarm')}")
    return monitor.n_alarms - before


def _alarm_line(alarm: sb.Alarm, feed: TextRows) -> str:
    """An alarm as JSON; the column by its name, null for the whole row."""
    column = None if alarm.column is None else feed.names[alarm.column] if feed.names else f"x{alarm.column + 1}"
    return json.dumps({"row": alarm.row, "wealth": alarm.wealth, "column": column})


def _row_lines(monitor: sb.Monitor, alarms: list[sb.Alarm]) -> list[str]:
    """The rows of the last update as JSON: the wealth after each, and whether it raised an alarm."""
    rows, first = {alarm.row for alarm in alarms}, monitor.n - len(monitor.last_wealth) + 1
    numbered = enumerate(monitor.last_wealth.tolist(), first)
    return [json.dumps({"row": row, "wealth": wealth, "alarm": row in rows}) for row, wealth in numbered]


# ``steinball demo``: what a week's work paid, a model that is good enough and one that is not.

TOLERANCE, SEED = 0.05, 0
_CALL = f"sb.check(wages, model, tolerance={TOLERANCE:g})"
_STORY = """Does a gamma distribution describe weekly wages?
  The data are 25,631 men who worked full time (US Census Bureau, 1988). The
  model is fitted on one half of them, and checked on the 12,815 men of the
  other half.

1. The standard test tolerates nothing
{standard}
  The reason is known. More than half of the men named a whole number of
  thousand dollars a year, and 177 wages stand at 99,999 dollars. No smooth
  curve has such heaps. With enough rows the standard test rejects every smooth
  curve.

2. You say what you tolerate
  Suppose that the heaps do not matter for what you do with the model. Tolerate
  differences of 5 points: in no range of wages may the share of men differ from
  the probability of the model by more.

  {call}

{good}

3. A wrong model is found: a normal distribution, fitted on the same half
{wrong}
  A normal distribution is symmetric, and this one expects 7 % of the men to
  earn less than nothing."""


def tell() -> dict[str, Any]:
    """A gamma and a normal distribution that were fitted to half of the wages, tested on the other half.

    Examples
    --------
    >>> story = tell()
    >>> story["standard"].rejected, story["good"].verdict, story["wrong"].verdict
    (True, 'good enough', 'misfit')
    """
    from scipy import stats

    first, second = sb.split(sb.datasets.load_wages(), rng=SEED)
    gamma = stats.gamma(*stats.gamma.fit(first[:, 0], floc=0.0))
    models = {"good": gamma, "wrong": stats.norm(*stats.norm.fit(first[:, 0]))}
    checks = {name: sb.check(second, model, tolerance=TOLERANCE, rng=SEED) for name, model in models.items()}
    named = {name: found._called(_CALL, ("wage",)) for name, found in checks.items()}
    return {"standard": sb.ksd_test(second, gamma, rng=SEED), **named}


def render_demo(story: dict[str, Any]) -> str:
    """The story in plain words; the results without their lines of numbers."""
    said = {name: " ".join(str(found).partition("\n  p-value")[0].split()) for name, found in story.items()}
    return _STORY.format(call=_CALL, **{name: wrap(words, indent=4) for name, words in said.items()})


def demonstrate(output: str | None = None) -> str:
    """The whole demonstration as text; its picture and its report are written to a folder, and named at the end."""
    story, folder = tell(), Path(output or tempfile.mkdtemp(prefix="steinball-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        picture = str(story["good"].plot(folder / "wages.png"))
    except ValueError as error:
        picture = f"not drawn: {error}"
    page = story["good"].report(folder / "wages.html", title="Weekly wages against a gamma distribution")
    return f"{render_demo(story)}\n\nPicture  {picture}\nReport   {page}"


_COMMANDS: dict[type, Callable[[Any], int]] = {
    opt.Check: partial(run_test, _asked, _check),
    opt.Compare: partial(run_test, _named_models, _compare),
    opt.Demo: run_demo,
    opt.GoodnessOfFit: partial(run_test, _check_test, _test),
    opt.PredictionCheck: partial(run_test, _asked, _predictive),
    opt.Watch: run_monitor,
}
