"""The test of draws against a posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from steinball.arrays import check_share
from steinball.calibration import BoundaryBootstrap, Calibration, WildBootstrap
from steinball.calibration.combination import as_calibration
from steinball.calibration.weighted import LEAST_EFFECTIVE
from steinball.checks.dependence import autocorrelation_time
from steinball.gof.assess import Specification, assess_problem
from steinball.gram.choose import Settings
from steinball.kernels.base import Kernel
from steinball.models.base import model_at
from steinball.models.knowledge import Knowledge
from steinball.posterior.draws import Draws, as_reading, read
from steinball.problem import Problem
from steinball.radius.contamination import Huber
from steinball.record import recorded
from steinball.results.gof import GofResult
from steinball.rows import Rows
from steinball.text import Row, count
from steinball.tilts import Tilt


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MCMCResult(GofResult):
    """The result of a test of draws against a posterior: :class:`GofResult`, and what is known of the chains.

    Attributes
    ----------
    parameters : tuple of str
        The names of the columns that were tested: ``mu``, ``theta[0]``. For models of other libraries these are the
        parameters on the unconstrained space.
    chains : tuple of int
        The length of each chain; rows, and ``contributions``, stand chain behind chain.
    autocorrelation_time : float
        Of the Stein features, in draws.
    effective_size : float
        ``n`` divided by it: how many independent draws the chains are worth to this test.
    """

    parameters: tuple[str, ...]
    chains: tuple[int, ...]
    autocorrelation_time: float

    effective_size: float

    schema: ClassVar[str] = "steinball.mcmc/1"
    _subject: ClassVar[str] = "the draws"
    _noun: ClassVar[str] = "draw"
    _target: ClassVar[str] = "the posterior"
    _unproved: ClassVar[str] = "This does not prove that the chains have converged"

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.parameters

    @property
    def title(self) -> str:
        """Which test it was."""
        return f"{'Robust kernel' if self.radius > 0 else 'Kernel'} Stein test of draws against a posterior"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        worth = f"worth about {count(round(self.effective_size), 'independent draw')} to this test"
        first, *others = super().rows()
        return [first, ("chains", count(len(self.chains), "chain"), worth), *others]

    def _points(self) -> str:
        return f"{count(self.n, 'draw')} of {count(self.dimension, 'parameter')}"


_CHAINS_AT_MOST = 16


@recorded
def mcmc_test(
    draws: Any,
    model: Any = None,
    *,
    scores: Any = None,
    contamination: float = 0.0,
    parameters: Any = None,
    chains: Any = None,
    chain_axis: int | None = None,
    kernel: Kernel | None = None,
    tilt: Tilt | str | None = "auto",
    tau: Any = None,
    calibration: Calibration | None = None,
    level: float = 0.05,
    rng: Any = None,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> MCMCResult:
    r"""Test whether draws of Markov chains come from the posterior that they are meant for.

    This is the question of *draws against a posterior*: did the sampler do its work? Whether *data* fit a *model* is
    the question of :func:`ksd_test` and :func:`robust_ksd_test`. Draws of a chain depend on each other, so the null
    distribution is that of dependent rows: random signs that stay alike along a chain and start anew with each.

    Parameters
    ----------
    draws : array, mapping, or an object of ArviZ, NumPyro or BlackJAX
        An array (chain, draw, d), or (n, d) for one chain; a mapping of names to arrays (chain, draw, ...); ArviZ's
        ``InferenceData`` or a ``DataTree`` with a group ``posterior``; a NumPyro ``MCMC`` after its run, which needs no
        model; states of BlackJAX, which hold the gradient and need no model either.
    model : optional
        What they should be draws of: a PyMC model, BridgeStan's ``StanModel``, a NumPyro ``MCMC`` or kernel, or any
        model that :func:`ksd_test` takes. Those of other libraries are tested on their unconstrained space, Jacobian
        included; draws are taken there by the model's own transforms.
    scores : array, optional
        In place of a model: the gradients of the log density at the draws, in the shape of ``draws``.
    contamination : float
        The share of draws that may come from elsewhere, in [0, 1]. By default none.
    parameters : sequence of str, optional
        Names of the columns of an array. Of named draws, with a model that does not know names: which of them are its
        columns, in its order.
    chains : int or sequence of int, optional
        For an array (n, d): how many chains stand one behind the other, or the length of each.
    chain_axis : {0, 1}, optional
        For arrays of three axes, mappings and states: 0 for (chain, draw, ...), 1 for (draw, chain, ...).
    kernel, tilt, level, rng, engine, memory_limit, n_jobs, progress
        As in :func:`robust_ksd_test`; a kernel or tilt is stated in standardized coordinates, in which the draws are
        always tested.
    tau : optional
        As in :func:`robust_ksd_test`; by default ``"sample"`` where no contamination is tolerated.
    calibration : Calibration, optional
        By default ``WildBootstrap(999, dependence="auto", chains=...)`` with the chains of the draws, and
        ``BoundaryBootstrap(999, scheme="wild", ...)`` where contamination is tolerated. One of your own is used as it
        is, whatever the chains are worth.

    Returns
    -------
    MCMCResult

    Notes
    -----
    Refused: chains that stand still for a quarter of their length, parameters that never change, and chains that are
    worth fewer than 20 independent draws by the autocorrelation time of the Stein features, to which chains that
    disagree with each other contribute.
    What no test of draws can see is a part of the posterior that no chain has visited.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(0).normal(size=(4, 600, 2))
    >>> draws = lfilter([0.6], [1.0, -0.8], noise, axis=1)[:, 100:]  # four chains of N(0, 1), correlation .8
    >>> sb.mcmc_test(draws, sb.models.Gaussian([0.0, 0.0]), rng=0).rejected
    False
    >>> sb.mcmc_test(draws, scores=-draws / 2.0, rng=0).rejected  # against N(0, 2)
    True
    """
    contamination = check_share(contamination, "contamination")
    drawn, against = read(draws, model, scores, as_reading(parameters, chains, chain_axis))
    rows = _rows(drawn, against)
    problem = Problem.of(rows, kernel, tilt)
    time = autocorrelation_time(problem, drawn.lengths)
    if calibration is None:
        check_worth(drawn, time)
        calibration = _default(contamination, drawn)
    chosen = as_calibration(calibration)
    if tau is None:
        tau = "sample" if contamination == 0.0 else chosen.default_tau
    settings = Settings(engine, memory_limit, n_jobs, progress)
    asked = Specification(Huber(contamination), chosen, level, rng, settings, kernel, None, tilt, tau)
    evidence, record = assess_problem(problem, asked, rows.fixes(kernel, tilt))
    worth: dict[str, Any] = {"autocorrelation_time": time, "effective_size": len(rows) / time}
    worth |= {"parameters": drawn.parameters, "chains": drawn.lengths}
    return MCMCResult.of(evidence, asked.radius, asked.level, record, **worth)


def _rows(draws: Draws, model: Any) -> Rows:
    """The draws in standardized coordinates."""
    found = model_at(model, draws.values)
    if Knowledge(found).base_map is not None:
        raise TypeError(f"`model` lives in base space, and draws are tested as they are. Pass the model of {found!r}.")
    return Rows.of(draws.values, found, standardize=True)


def _default(contamination: float, draws: Draws) -> Calibration:
    if contamination > 0.0:
        return BoundaryBootstrap(999, scheme="wild", dependence="auto", chains=draws.lengths)
    return WildBootstrap(999, dependence="auto", chains=draws.lengths)


def check_worth(draws: Draws, time: float) -> None:
    """Refuse chains that are worth too few independent draws."""
    n, d = (int(size) for size in draws.values.shape)
    if n / time >= LEAST_EFFECTIVE:
        return
    hint = ""
    if len(draws.lengths) == 1 and n <= _CHAINS_AT_MOST and d >= 4 * n:
        hint = f" Is shape ({n}, {d}) (chain, draw) of one quantity? Then pass `draws[..., None]`."
    raise ValueError(
        f"`draws`: {n} draws of {len(draws.lengths)} chains are worth about {n / time:.3g} independent ones "
        f"(autocorrelation time {time:.3g}), and this test needs {LEAST_EFFECTIVE}. Run the chains longer, about "
        f"{math.ceil(LEAST_EFFECTIVE * time)} draws in all. Chains that disagree with each other look the same: then "
        f"they have not converged, and longer ones are no remedy.{hint}"
    )
