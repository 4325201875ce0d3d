"""The steps of a kernel Stein test, once: every test chooses its defaults and goes through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from steinball.arrays import as_seed, check_level
from steinball.calibration import Calibration, combination
from steinball.checks.dependence import dependent_rows
from steinball.checks.memory import slow_memory
from steinball.checks.model import contradictions, mistaken_score, separated_modes
from steinball.checks.rows import few_rows, rounded_rows, rows_of_the_fit
from steinball.evidence.kernels import RobustAggregationEvidence
from steinball.evidence.ksd import KSDEvidence, Reading
from steinball.gram.base import Gram, GramSummary, check_estimator
from steinball.gram.choose import DENSE_UP_TO, Settings, make_gram
from steinball.gram.request import Request
from steinball.gram.whole import IsolatedGram
from steinball.kernels.base import Kernel
from steinball.problem import Problem
from steinball.radius.base import as_radius
from steinball.remarks import Remark
from steinball.rows import Rows, in_no_coordinates
from steinball.tau.certificate import Supremum
from steinball.tau.supremum import find_supremum


@dataclass(frozen=True, eq=False)
class Specification:
    """What a test asks: the tolerated set, how the null is imitated, kernel and tilt, and how the work is done.

    The fields have the words of :func:`steinball.ksd_test`; ``level=None`` leaves the level to the caller.
    """

    radius: Any
    calibration: Any
    level: Any
    rng: Any
    settings: Settings
    kernel: Kernel | None = None
    tilt: Any = None
    tau: Any = "sample"
    estimator: str = "v"
    jumps: Any = None
    outside: str = "error"
    check_model: bool = True
    standardize: bool = True

    def __post_init__(self) -> None:
        calibration, seed = combination.as_calibration(self.calibration), as_seed(self.rng)
        level = 0.0 if self.level is None else check_level(self.level, calibration.n_resamples)
        vars(self).update(radius=as_radius(self.radius), calibration=calibration, rng=seed, level=level)
        combination.check_combination(calibration, check_estimator(self.estimator), self.radius, self.jumps is not None)

    def prepare(self, x: Any, model: Any, kernel_given: Any = None) -> Rows:
        """The rows where they are tested; refused where calibration or tolerance do not go with them."""
        kernel = self.kernel if kernel_given is None else kernel_given
        base, free = (
            in_no_coordinates(asked, self.tilt, self.tau) and self.radius.invariant
            for asked in (kernel, None if isinstance(kernel, str) else kernel)  # "median" is in no coordinates
        )
        words = {"jumps": self.jumps, "seed": self.rng, "outside": self.outside}
        words |= {"base": base and self.jumps is None, "standardize": free and self.standardize}
        rows = Rows.of(x, model, predictable=self.calibration.predictable, **words)
        combination.check_isolated(self.radius, len(rows.excluded))
        combination.check_rows_and_model(self.calibration, rows)
        return rows


def assess(x: Any, model: Any, asked: Specification) -> tuple[KSDEvidence, list[Remark]]:
    """The evidence of a test under one kernel, and what is to be remarked."""
    rows = asked.prepare(x, model)
    return assess_problem(Problem.of(rows, asked.kernel, asked.tilt), asked, rows.fixes(asked.kernel, asked.tilt))


def assess_problem(
    problem: Problem, asked: Specification, fixed: bool = False, kind: type[KSDEvidence] = KSDEvidence
) -> tuple[KSDEvidence, list[Remark]]:
    """The same, of a kind, for a posed problem; ``fixed`` says that kernel and tilt owe nothing to its samples."""
    calibration = asked.calibration.for_rows(problem)
    tau = find_supremum(asked.tau, problem)
    theta = combination.radius_of(asked.radius, calibration, problem, tau)
    calibration = calibration.for_set(asked.radius, problem, tau)
    remarks = [*looked_over(problem, asked), *combination.doubts(asked.radius, calibration, problem, tau)]
    request = calibration.request(problem.rows.n, asked.rng)
    combination.check_engine(calibration, request, asked.settings.engine)
    read = {"calibration": calibration, "tau": tau, "estimator": asked.estimator}
    decides = partial(_decides, radius=theta, level=asked.level, **read)  # an engine keeps it, and is pickled
    gram = gram_of(problem, tau, request, calibration, asked.settings, decides)
    summary = gram.summarise(request)
    remarks += seen_in_order(problem, summary, asked.calibration, calibration)
    moved, predictable = asked.jumps is not None, fixed or calibration.predictable
    facts = calibration, asked.rng, tau, asked.estimator, moved, predictable
    return kind(problem, gram, request, summary, *facts), remarks


def _decides(summary: GramSummary, radius: float, level: float, **read: Any) -> bool:
    """Whether the sums decide for certain."""
    return Reading(summary, **read).grade(radius, level) != "approximate"


def assess_kernels(
    x: Any, model: Any, asked: Specification, kernels: Any, choose: Callable[[Rows], Sequence[Kernel]]
) -> tuple[RobustAggregationEvidence, list[Remark]]:
    """The evidence of a test under several kernels: those that ``choose`` picks for the rows by ``kernels``, which the
    user asked for. The weights are drawn once and serve them all."""
    rows = asked.prepare(x, model, kernels)
    problems = Problem.of_all(rows, choose(rows), asked.tilt)
    middle = len(problems) // 2
    calibration = asked.calibration.for_rows(problems[middle])
    taus = tuple(find_supremum(asked.tau, problem) for problem in problems)
    for problem, tau in zip(problems, taus, strict=True):
        combination.radius_of(asked.radius, calibration, problem, tau)
    settings = replace(asked.settings, engine=exact_engine(asked.settings.engine, len(rows)))
    request = calibration.request(rows.n, asked.rng).gathered(rows.n, settings.n_jobs)
    grams = (gram_of(*pair, request, calibration, settings) for pair in zip(problems, taus, strict=True))
    summaries = tuple(gram.summarise(request) for gram in grams)
    evidence = RobustAggregationEvidence(problems, summaries, taus, calibration)
    remarks = [*looked_over(problems[middle], asked), *evidence.remarks(asked.radius)]
    remarks += seen_in_order(problems[middle], summaries[middle], asked.calibration, calibration)
    return evidence, remarks


def looked_over(problem: Problem, asked: Specification) -> Iterator[Remark]:
    """All that can be said of a problem before its pairs are looked at."""
    yield from mistaken_score(problem)
    yield from few_rows(problem.samples)
    yield from rounded_rows(problem, asked.radius.displacement)
    if asked.check_model:
        yield from rows_of_the_fit(problem)
        yield from contradictions(problem)
    if asked.jumps is None:
        yield from separated_modes(problem)


def seen_in_order(
    problem: Problem, summary: GramSummary, asked: Calibration, calibration: Calibration
) -> Iterator[Remark]:
    """What the order of the rows shows: dependence where none is allowed for, and a slow part of what is found."""
    if calibration.independent_rows:
        yield from dependent_rows(problem, summary)
    elif asked.searched_chains is not None:
        yield from slow_memory(problem, asked.searched_chains)


def gram_of(
    problem: Problem,
    tau: Supremum,
    request: Request,
    calibration: Calibration,
    settings: Settings,
    decides: Callable[[GramSummary], bool] = lambda summary: True,
) -> Gram:
    """The engine for the pairs of one problem, points that the model excludes among them."""
    gram, rows = make_gram(problem, request, calibration.n_resamples, settings, decides), problem.rows
    return IsolatedGram(gram, rows.n, rows.excluded, tau.value) if len(rows.excluded) else gram


def exact_engine(engine: str, n: int) -> str:
    """The engine for several kernels, whose draws must be exact."""
    if engine == "lowrank":
        raise ValueError(
            '`engine` must be "auto", "dense" or "blocked", got "lowrank": the correction needs exact draws.'
        )
    return ("dense" if n <= DENSE_UP_TO else "blocked") if engine == "auto" else engine
