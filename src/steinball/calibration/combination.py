"""What goes with what: every check of a calibration against the estimator, radius, jumps, τ and engine of a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steinball.arrays import check_kind
from steinball.calibration.base import Calibration
from steinball.cautions import RemovalWarning
from steinball.gram.request import Request
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.remarks import Remark
from steinball.rows import Rows
from steinball.tau.certificate import Supremum
from steinball.tau.supremum import grows, unbounded_kernel, uncertified


def as_calibration(calibration: Any) -> Calibration:
    """What the user passed, if it is a calibration."""
    wanted = "a calibration such as WeightedBootstrap(999), an instance of a subclass of"
    check_kind(calibration, Calibration, "calibration", f"{wanted} `steinball.calibration.Calibration`")
    return calibration  # type: ignore[no-any-return]


def check_combination(calibration: Calibration, estimator: str, radius: Radius, moved: bool = False) -> None:
    """Refuse what can be refused before the data are looked at; ``moved`` is whether jumps move them."""
    if estimator not in calibration.estimators:
        only = calibration.estimators[0]
        raise ValueError(
            f'{calibration!r} is for the {only.upper()}-statistic: use estimator="{only}", or another calibration such '
            "as WeightedBootstrap(999)."
        )
    if not calibration.tolerates(radius):
        raise ValueError(
            f"`calibration={calibration!r}` does not hold over the set behind {radius!r}. Use another calibration, or "
            "another tolerance: a share of contamination, Huber(share), or none."
        )
    if moved and not radius.closed_under_moves:
        raise ValueError(
            f"`jumps` can carry members of the set behind {radius!r} outside of it. Use a share of contamination, "
            "TotalVariation, Hellinger, KullbackLeibler, ChiSquared or a DensityBand, or no jumps."
        )


def check_rows_and_model(calibration: Calibration, rows: Rows) -> None:
    """Points that the model excludes leave holes in chains, which a calibration that looks for these does not know;
    and samples of the model are drawn by the model."""
    if len(rows.excluded) and calibration.needs_every_row:
        raise ValueError(
            f"{calibration!r} takes an autocorrelation time from chains, of which {len(rows.excluded)} points lie "
            "outside the support of the model and have no Stein features. Give `dependence` a number of rows."
        )
    if calibration.needs_sampler and Knowledge(rows.model).sampler is None:
        raise TypeError(
            f"{calibration!r} draws whole samples from the model, and `model` has no `sample(n, rng)`. Give it that "
            "method, or use a calibration that needs none: BoundaryBootstrap(999), or Betting() for every n."
        )


def check_isolated(radius: Radius, isolated: int) -> None:
    """Points that the model excludes are contaminated: a share of contamination must be tolerated, and nothing else."""
    if isolated and not radius.contamination:
        raise ValueError(
            f"{isolated} points lie outside the support of the model, so that `{radius!r}` cannot hold them: the model "
            "alone is refuted by any one of them. Tolerate a share of contamination: `contamination=0.05`."
        )


def check_over_kernels(calibration: Calibration, radius: Radius) -> None:
    """Refuse what a decision over several kernels, which is about V-statistics, cannot use."""
    if not calibration.aggregates:
        raise TypeError(
            "`calibration` must decide over several kernels, as BoundaryBootstrap or Betting do, got "
            f"{calibration!r}, which is for one."
        )
    if radius.kernel_specific:
        raise ValueError(
            "one number on the KSD scale means something else under every kernel. Give `contamination`, or a set of "
            "distributions such as TotalVariation(0.05)."
        )
    check_combination(calibration, "v", radius)


def check_engine(calibration: Calibration, request: Request, engine: str) -> None:
    """Refuse an engine that was asked for by name and cannot answer what the calibration asks."""
    if engine == "lowrank" and request.needs:
        raise ValueError(
            f'{calibration!r} needs {request.needs}, which `engine="lowrank"` does not give: it does not see every '
            'pair of points, and bounds its errors for independent weights. Use engine="auto", "blocked" or "dense".'
        )


def radius_of(radius: Radius, calibration: Calibration, problem: Problem, tau: Supremum) -> float:
    """The radius θ of a tolerated set; refused where the calibration needs another τ, or base space has no such set."""
    if not calibration.accepts(tau):
        raise ValueError(
            f'{calibration!r} needs an upper bound of u(x, x), but τ = {tau.value:g} is of kind "{tau.kind}". '
            'Use tau="auto", or give a number that bounds u(x, x).'
        )
    if Knowledge(problem.model).base_map is not None and not radius.invariant:
        raise ValueError(
            f"`{radius!r}` is a distance in the coordinates of the data, and means nothing in base space. Use a share "
            "of contamination, TotalVariation, Hellinger, KullbackLeibler, ChiSquared or a DensityBand; or test the "
            "model as it is: `sb.as_model(model)`."
        )
    return radius(problem, tau)


def doubts(radius: Radius, calibration: Calibration, problem: Problem, tau: Supremum) -> Iterator[Remark]:
    """Remarks where a bounded Stein kernel or an upper bound of u(x, x) is needed and there is none."""
    yield from uncertified(tau)
    if tau.is_proved:
        return
    if radius.needs_bounded:
        yield from unbounded_kernel(problem, f"`{radius!r}`")
    elif calibration.needs_upper_bound:
        yield from unbounded_kernel(problem, f"`{type(calibration).__name__}`")
    if not radius.trusts(tau) and not grows(problem):  # of a kernel that grows, enough was said
        yield Remark(
            RemovalWarning,
            f"`{radius!r}` allows mass of the model to be missing from the data, where no sample shows how large "
            f'u(x, x) was; τ = {tau.value:g} is of kind "{tau.kind}" and may be too small, and the level may not hold.',
            'Use tau="auto", or give a number that bounds u(x, x).',
        )
