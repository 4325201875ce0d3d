"""Draws of Markov chains as rows, of whatever library, and the test of draws against a posterior."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.adapters.samplers import Layout, NamedDraws, Reading
from steinball.arrays import Array, Floats, as_numbers, as_samples, check_kind, computed, is_array, namespace, to_host
from steinball.calibration import BoundaryBootstrap, Calibration, WildBootstrap
from steinball.calibration.combination import as_calibration
from steinball.checks.dependence import as_chains, autocorrelation_time, chain_lengths, chain_starts
from steinball.checks.memory import LEAST_EFFECTIVE
from steinball.gof.assess import Specification, assess_problem
from steinball.gram.choose import Settings
from steinball.kernels.base import Kernel
from steinball.models.base import from_scores, model_at
from steinball.models.knowledge import Knowledge
from steinball.models.registry import is_posterior, read_draws, read_posterior
from steinball.problem import Problem
from steinball.radius.contamination import Huber
from steinball.record import recorded
from steinball.results.gof import GofResult
from steinball.rows import Rows
from steinball.text import Row, count
from steinball.tilts import Tilt

#: A chain that stays at one point for this share of its length, and so many draws, was stuck: of chains that are long
#: enough to be tested, samplers that reject most proposals stay that long less than once in ten.
_STUCK_SHARE, _STUCK_DRAWS = 0.25, 20


def as_reading(parameters: Any, chains: Any, chain_axis: Any) -> Reading:
    """How a user says that the draws are to be read, checked."""
    if isinstance(parameters, str):
        parameters = (parameters,)
    if chain_axis not in (None, 0, 1) or isinstance(chain_axis, bool):
        raise ValueError(f"`chain_axis` must be 0 for (chain, draw, d) or 1 for (draw, chain, d), got {chain_axis!r}.")
    if parameters is not None:
        parameters = tuple(map(str, check_kind(parameters, Iterable, "parameters", "a name or a list of names")))
    lengths: Any = None if chains is None else as_chains(chains)
    return Reading(parameters, lengths, chain_axis)


@dataclass(frozen=True, eq=False)
class ChainDraws:
    """Draws of Markov chains as rows.

    Parameters
    ----------
    values : (n, d) array
        The draws, chain behind chain.
    lengths : tuple of int
        The length of each chain.
    parameters : tuple of str
        The names of the columns.

    Examples
    --------
    >>> ChainDraws.of(np.arange(24.0).reshape(2, 4, 3), Reading()).lengths
    (4, 4)
    """

    values: Array
    lengths: tuple[int, ...]
    parameters: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @classmethod
    def of(cls, draws: Any, reading: Reading) -> ChainDraws:
        """An array (chain, draw, d), (n, d) or (n,), checked: finite, no chain stuck, and every column moves."""
        array, chains = draws if is_array(draws) else as_numbers(draws, "draws"), reading.chains
        shape = tuple(array.shape)
        if len(shape) == 3:
            if chains is not None:
                raise ValueError(f"`chains` is for arrays (n, d); shape {shape} says itself how many there are.")
            array = reading.chains_first(array)
            chains = (int(array.shape[1]),) * int(array.shape[0])
            array = namespace(array).reshape(array, (sum(chains), shape[2]))
        elif reading.chain_axis is not None:
            raise ValueError(f"`chain_axis` is for arrays of three axes, got shape {shape}.")
        rows = computed(as_samples(array, "draws"))
        names = tuple(f"x[{j}]" for j in range(rows.shape[1])) if reading.parameters is None else reading.parameters
        if len(names) != rows.shape[1]:
            raise ValueError(f"`parameters` must name the {rows.shape[1]} columns of `draws`, got {len(names)} names.")
        found = cls(rows, chain_lengths(int(rows.shape[0]), 1 if chains is None else chains), names)
        _check_moving(found)
        return found

    @classmethod
    def of_named(cls, values: Mapping[str, Floats], parameters: tuple[str, ...] | None) -> ChainDraws:
        """Draws by name, each (chain, draw, ...), side by side in the stated order."""
        chosen = {name: values[name] for name in _known(parameters, values)}
        layout = Layout.of(chosen, 2)
        return cls.of(layout.pack(chosen), Reading(layout.parameters))


def read(draws: Any, model: Any, scores: Any, reading: Reading) -> tuple[ChainDraws, Any]:
    """Draws as rows, and what they are tested against: a posterior, a model or scores at these rows."""
    if model is not None and scores is not None:
        raise ValueError("give `model` or `scores`, not both: each of them says what the draws are tested against.")
    named = read_draws(draws, reading)
    if named is None and isinstance(draws, Mapping):
        named = NamedDraws(as_named(draws, reading))
    if isinstance(named, NamedDraws):
        return _read_named(draws, named, model, scores, reading)
    if named is not None:
        scores = named.scores if model is None and scores is None else scores
        draws, reading = named.values, replace(reading, parameters=reading.parameters or named.names)
    if is_posterior(draws):
        raise TypeError(f"`draws` is a {type(draws).__name__}, a model: use `sb.mcmc_test(draws, model)`, draws first.")
    if is_posterior(model):
        raise TypeError(
            f"`model` is a {type(model).__name__}, which knows its parameters by name, and `draws` has columns without "
            "names. Pass the run itself, ArviZ data, or a dictionary of arrays (chain, draw, ...)."
        )
    return _against(ChainDraws.of(draws, reading), model, scores, reading)


def _read_named(run: Any, named: NamedDraws, model: Any, scores: Any, reading: Reading) -> tuple[ChainDraws, Any]:
    """Draws by name against a posterior that knows its parameters by name, or against anything else."""
    model = named.model if model is None and scores is None else model
    posterior = read_posterior(model, run)
    if posterior is None:
        return _against(ChainDraws.of_named(named.values, reading.parameters), model, scores, reading)
    if reading.parameters is not None:
        raise ValueError("`parameters` is for models that do not know their parameters by name; this one does.")
    return ChainDraws.of(posterior.unconstrain(named.values), Reading(posterior.parameters)), posterior


def _against(draws: ChainDraws, model: Any, scores: Any, reading: Reading) -> tuple[ChainDraws, Any]:
    if model is not None:
        return draws, model
    if scores is None:
        raise TypeError(
            "`model` or `scores` is needed: draws alone do not say what they should be draws of. Pass a PyMC or "
            "BridgeStan model, a score function, or the gradients of the log density at the draws as `scores`."
        )
    return draws, from_scores(_rows_of(scores, draws, reading))


def _rows_of(scores: Any, draws: ChainDraws, reading: Reading) -> Any:
    """Scores in the shape of the draws that were passed, as rows, chain behind chain."""
    if np.ndim(scores) == 3:
        scores = reading.chains_first(scores if is_array(scores) else np.asarray(scores))
        return namespace(scores).reshape(scores, (-1, scores.shape[2]))
    if reading.chain_axis == 1 and len(draws.lengths) > 1:
        raise ValueError(
            f"`scores` of shape {np.shape(scores)} with `chain_axis=1` can be in the order of the draws or chain "
            "behind chain. Pass them in the shape of `draws`, (draw, chain, d)."
        )
    return scores


def as_named(draws: Mapping[str, Any], reading: Reading) -> dict[str, Floats]:
    """A mapping of names to arrays (chain, draw, ...) on the host, in double precision."""
    if reading.chains is not None:
        raise ValueError("`chains` is for arrays (n, d); give named draws as (chain, draw, ...).")
    numbers = {str(name): as_numbers(value, f"draws[{name!r}]") for name, value in draws.items()}
    named: dict[str, Floats] = {name: reading.chains_first(value) for name, value in numbers.items()}
    shapes = {name: value.shape for name, value in named.items()}
    if not named or any(len(shape) < 2 for shape in shapes.values()):
        raise ValueError(f"`draws` by name must have shape (chain, draw, ...) each, got {shapes}.")
    if len({shape[:2] for shape in shapes.values()}) > 1:
        raise ValueError(f"`draws` by name must have the same chains and draws, got shapes {shapes}.")
    return named


def _known(parameters: tuple[str, ...] | None, values: Mapping[str, Floats]) -> tuple[str, ...]:
    """The parameters that were asked for; of several, the order must be said, for it is that of the model's columns."""
    if parameters is None:
        if len(values) > 1:
            raise ValueError(
                f"`draws` has the variables {', '.join(values)}, and this model does not know them by name. Say which "
                f"of them are its columns, in its order: `parameters={list(values)[:2]}`."
            )
        return tuple(values)
    if missing := [name for name in parameters if name not in values]:
        raise ValueError(f"`parameters` has {', '.join(missing)}, but `draws` has only {', '.join(values)}.")
    return parameters


def _check_moving(draws: ChainDraws) -> None:
    """Refuse a chain that was stuck and a parameter that never changes: neither has a distribution to be tested."""
    rows, starts, lengths = to_host(draws.values), chain_starts(len(draws), draws.lengths), np.array(draws.lengths)
    stays = _longest_stays(rows, starts)
    if (stuck := np.flatnonzero(stays >= np.maximum(_STUCK_DRAWS, _STUCK_SHARE * lengths))).size:
        first = stuck[0]
        raise ValueError(
            f"`draws`: {stuck.size} of {len(starts)} chains stand still for a quarter of their length or more (first: "
            f"chain {first}, {stays[first]} of {lengths[first]} draws are one point). The sampler was stuck: look at "
            "its step size, acceptance and starting point, and run it again."
        )
    if (still := np.flatnonzero((rows == rows[0]).all(axis=0))).size:
        names = ", ".join(f"`{draws.parameters[j]}`" for j in still[:5])
        raise ValueError(
            f"`draws` of {names} never change. A parameter that the sampler did not move cannot be tested: leave it "
            "out together with its column of the model, or run the sampler again."
        )


def _longest_stays(rows: Floats, starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many draws each chain spends at one point at most without a move."""
    moves = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    moves[starts] = True
    arrivals = np.flatnonzero(moves)
    return np.maximum.reduceat(np.diff(arrivals, append=len(rows)), np.searchsorted(arrivals, starts))


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
    radius = Huber(contamination)
    drawn, against = read(draws, model, scores, as_reading(parameters, chains, chain_axis))
    rows = _rows(drawn, against)
    problem = Problem.of(rows, kernel, tilt)
    time = autocorrelation_time(problem, drawn.lengths)
    if calibration is None:
        check_worth(drawn, time)
        calibration = _default(radius.contamination, drawn)
    chosen = as_calibration(calibration)
    if tau is None:
        tau = "sample" if radius.contamination == 0.0 else chosen.default_tau
    settings = Settings(engine, memory_limit, n_jobs, progress)
    asked = Specification(radius, chosen, level, rng, settings, kernel, tilt, tau)
    evidence, remarks = assess_problem(problem, asked, rows.fixes(kernel, tilt))
    worth: dict[str, Any] = {"autocorrelation_time": time, "effective_size": len(rows) / time}
    worth |= {"parameters": drawn.parameters, "chains": drawn.lengths}
    return MCMCResult.of(evidence, radius, level, remarks, **worth)


def _rows(draws: ChainDraws, model: Any) -> Rows:
    """The draws in standardized coordinates."""
    found = model_at(model, draws.values)
    if Knowledge(found).base_map is not None:
        raise TypeError(f"`model` lives in base space, and draws are tested as they are. Pass the model of {found!r}.")
    return Rows.of(draws.values, found, standardize=True)


def _default(contamination: float, draws: ChainDraws) -> Calibration:
    if contamination > 0.0:
        return BoundaryBootstrap(999, scheme="wild", dependence="auto", chains=draws.lengths)
    return WildBootstrap(999, dependence="auto", chains=draws.lengths)


def check_worth(draws: ChainDraws, time: float) -> None:
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
