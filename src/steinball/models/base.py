"""What a model is: anything with a score, and the shapes in which users bring one."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any, ClassVar, NoReturn, Protocol, runtime_checkable

import array_api_compat
import numpy as np

from steinball import arrays
from steinball.arrays import Array, is_array_like, like, namespace, private_copy, to_host
from steinball.models.knowledge import DENSITIES, LOG_DENSITIES, Knowledge
from steinball.models.registry import ScoreArray, read_model
from steinball.models.support import Support
from steinball.text import repr_without_address

_ACCEPTED = (
    "a function that returns scores ∇log p, `sb.from_scores(array)` of scores at the samples, or an object with "
    '`score(x)`; a bare log density comes in by `sb.from_log_density(f, backend="jax" | "torch" | "numerical")`'
)
_ABOUT_DTYPES = re.compile(r"\bdtypes?\b|scalar type|data type|input type|\bdouble\b|\bfloat(32|64)\b", re.IGNORECASE)
#: The largest share of the spread of a column by which single precision may move a point.
_ROUNDING = 1e-3

_BACKEND_FOR = {"torch": "torch", "pyro": "torch", "jax": "jax", "numpyro": "jax", "distrax": "jax"}


@runtime_checkable
class Model(Protocol):
    r"""A density known through its score,

    .. math:: s(x) = \nabla_x \log p(x),

    which needs no normalizing constant (Liu and Briol 2025, §2.1).

    Notes
    -----
    Only ``score`` is required. These are used where an object has them: ``log_density(x)``, shape (n,), up to
    a constant; ``sample(n, rng)``, shape (n, d); ``dimension``, an int; ``location``, shape (d,), and
    ``covariance``, shape (d, d), which center and scale the tilt. With ``score_growth(center)``, a pair (A, B) such
    that \|s(x)\| ≤ A + B\|x − center\| for every x, the supremum of the Stein kernel gets a certified upper bound
    (:class:`~steinball.models.knowledge.ScoreGrowth`); ``score_bounds(lower, upper)``, NumPy bounds of each coordinate
    of the score over boxes, rows (m, d), sharpens it in up to three dimensions. ``modes``, a
    :class:`steinball.jumps.Modes`, is for jumps. ``support``, a pair (low, high) or one per column with ``None`` for
    infinite, says where the density ends; ``growth`` is r with \|s(x)\| = O(1 + \|x\|^r). ``takes_numpy = True`` says
    that NumPy arrays are welcome whatever library the samples are of.

    Examples
    --------
    >>> class Laplace:
    ...     def score(self, x):
    ...         return -x / abs(x)
    >>> isinstance(Laplace(), Model)
    True
    """

    def score(self, x: Array, /) -> Array:
        """The score at every row of ``x`` (n, d), an array of the same shape and library."""


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """A plain function x ↦ ∇log p(x), (n, d) to (n, d), as a :class:`Model`, with what else is known of the model.

    Examples
    --------
    >>> import numpy as np
    >>> ScoreFunction(lambda x: -x).score(np.array([[2.0]]))
    array([[-2.]])
    """

    function: Callable[[Array], Array]
    support: Support | None = None
    sample: Callable[..., Any] | None = None
    log_density: Callable[[Array], Array] | None = None
    growth: float | None = None
    bare_function: ClassVar[bool] = True

    def score(self, x: Array, /) -> Array:
        return self.function(x)


def from_score(
    score: Callable[[Array], Array],
    support: Any = None,
    *,
    sample: Callable[..., Any] | None = None,
    log_density: Callable[[Array], Array] | None = None,
    growth: float | None = None,
) -> ScoreFunction:
    r"""The model of a score function, with where its density ends and what else is known of it.

    For scores that are known at the rows alone, as an array, there is :func:`from_scores`.

    Parameters
    ----------
    score : callable
        x ↦ ∇log p(x), from (n, d) to (n, d).
    support : pair, or list of pairs, optional
        (low, high) for every column, or one pair per column; ``None`` is an infinite end. A density that does not
        vanish at an edge is tested with a tilt that does (``tilt="auto"``), and data outside are refused.
    sample : callable, optional
        ``sample(n, rng)``, draws (n, d) of the model. With it the model is checked against itself once, and tests that
        must not look at the data choose kernel and tilt by it.
    log_density : callable, optional
        (n, d) to (n,), up to a constant.
    growth : float, optional
        r with :math:`|s(x)| \le A + B |x|^r` for some A and B, and :math:`|s(x)| \le C / \text{distance}` next to an
        edge. The tilt then bounds the Stein kernel for certain, and not only as far as one can see.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> exponential = from_score(lambda x: -np.ones_like(x), support=(0, None))
    >>> x = np.random.default_rng(0).exponential(size=200)
    >>> sb.robust_ksd_test(x, exponential, contamination=0.05, rng=0).rejected
    False
    """
    if not callable(score):
        instead = " Scores at the rows themselves come in by `sb.from_scores(array)`." if is_array_like(score) else ""
        raise TypeError(f"`score` must be a function (n, d) -> (n, d), got {score!r}.{instead}")
    _refuse_by_name(score)
    return ScoreFunction(score, **as_extras(support, growth, sample=sample, log_density=log_density))


def as_extras(support: Any, growth: Any, **functions: Any) -> dict[str, Any]:
    """What a model may know beyond its score, checked, by name."""
    for name, function in functions.items():
        arrays.check_kind(function, (Callable, type(None)), name, "a function or None")  # type: ignore[arg-type]
    support = None if support is None else Support.of(support)
    return {"support": support, "growth": None if growth is None else arrays.as_number(growth, "growth"), **functions}


def from_scores(scores: Any) -> ScoreArray:
    """The model whose scores ∇log p are known at exactly the tested rows, as an array.

    Where the score is a function, :func:`from_score` says more: tests then look at the model away from the rows.

    Parameters
    ----------
    scores : array
        ∇log p at each row of the samples, in their order: shape (n, d), or (n,) for d = 1; of the same array library.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> sb.ksd_test(x, from_scores(-x), rng=0).rejected
    False
    """
    if not is_array_like(scores):
        instead = " Use `sb.from_score(function)`." if callable(scores) else ""
        raise TypeError(
            f"`scores` must be an array of scores, one row per sample, got {repr_without_address(scores)}.{instead}"
        )
    return ScoreArray(None, scores)


@dataclass(frozen=True, eq=False)
class JaxModel:
    """A model written in JAX, for samples in NumPy: points go to JAX and scores come back as float64."""

    original: Any
    template: Array
    takes_numpy: ClassVar[bool] = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by pickle before there is an original
            raise AttributeError(name)
        return getattr(self.original, name)

    def __repr__(self) -> str:
        return repr(self.original)

    def score(self, x: Array, /) -> Array:
        return to_host(self.original.score(like(x, self.template)))

    @property
    def log_density(self) -> Callable[[Array], Array] | None:
        """The log density of the original model, for points in NumPy, where it has one."""
        inner = Knowledge(self.original).log_density
        return None if inner is None else lambda x: to_host(inner(like(x, self.template)))


def keepable(model: Model, samples: Array, scores: Array) -> Model:
    """The model, or what is left of one that cannot be pickled, such as a lambda."""
    try:
        pickle.dumps(model)
    except Exception:  # whatever a user's object raises
        return ScoreArray(samples, scores, repr_without_address(model))
    return model


def as_model(model: Any, samples: Any = None) -> Model:
    """What a user passed as ``model``, as an object with ``score(x)``.

    Parameters
    ----------
    model : callable, Model or an object of another library
        A function that returns scores, :func:`from_scores` of their values at ``samples``, or a :class:`Model`, which
        is used as it is. A frozen distribution of SciPy, a distribution of torch or NumPyro, a
        flow, a fitted mixture or kernel density of scikit-learn comes with all that it knows: its score, sampler,
        support, place. Anything else is an error that says what to do.
    samples : array, optional
        Shape (n, d), or (n,) for d = 1. Scores at the samples cannot do without.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> as_model(stats.norm(1.0, 2.0))
    Gaussian(mean=1, cov=4)
    >>> x = np.array([[1.0], [2.0]])
    >>> as_model(from_scores(-x), x)
    ScoreArray(shape=(2, 1))
    """
    return model_at(model, None if samples is None else arrays.as_samples(samples, least=1))


def model_at(model: Any, samples: Array | None) -> Model:
    """:func:`as_model` where the samples were checked on their way in, as all tests do; they are kept as they are."""
    _refuse_what_is_no_model(model)
    if isinstance(model, ScoreArray) and model.samples is None:
        if samples is None:
            raise TypeError("`model` is an array of scores, which says nothing without its `samples`; pass them too.")
        return ScoreArray(samples, arrays.as_scores(model.scores, samples))
    _refuse_by_name(model)
    columns = None if samples is None else int(samples.shape[1])
    found = model if Knowledge(model).has_score else read_model(model, columns)
    if found is not None:
        d = Knowledge(found).dimension
        if d is not None and columns is not None and d != columns:
            raise ValueError(f"`model` has dimension {d} but `samples` has {columns} columns; rows are observations.")
        return found  # type: ignore[no-any-return]
    _refuse_what_has_no_score(model)
    if not callable(model):
        raise TypeError(f"`model` must be {_ACCEPTED}; got an object of type {type(model).__name__}.")
    _check_takes_points(model)
    return ScoreFunction(model)


def source_of_draws(model: Any, columns: int | None = None) -> Any:
    """What a user passed as ``model``, where draws of it are needed and a score is not, for data with so many columns.

    An object with ``sample(n, rng)``, ``draws`` or ``to_base(x)`` needs no score. A model in base space is the one in
    the data's own columns.

    Examples
    --------
    >>> from scipy import stats
    >>> source_of_draws(stats.norm(1.0, 2.0))
    Gaussian(mean=1, cov=4)
    """
    known = Knowledge(model)
    if known.base_map is not None:
        return known.base_map.model
    speaks = known.sampler is not None or known.to_base is not None  # of another library, in that library's way
    own = known.second_sample is not None or (speaks and read_model(model, columns) is None)
    return model if own else model_at(model, None)


def _check_takes_points(function: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with the points alone."""
    try:
        inspect.signature(function).bind(None)
    except ValueError:  # many functions written in C do not tell
        return
    except TypeError as error:
        raise TypeError(f"`model` must be a function of the samples alone, (n, d) -> (n, d): {error}.") from None


def evaluate_score(model: Model, x: Array) -> Array:
    """The score at ``x``, checked: finite, and of the shape, array library, device and dtype of ``x``.

    float32 scores of float64 samples are widened, which loses nothing; the opposite is an error. A model that takes
    single precision only, such as a torch network, is evaluated in that and its scores are widened.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate_score(ScoreFunction(lambda x: -x[:, 0]), np.array([[1.0], [2.0]])).shape
    (2, 1)
    """
    _refuse_network(model, x)
    scores = score_of(model, x)
    _refuse_excluded_points(model, x, scores)
    # A copy of ours: a model may write its next scores into the same memory.
    return private_copy(arrays.as_scores(scores, x, "model.score(samples)"))


def _refuse_network(model: Model, x: Array) -> None:
    """Refuse rows of another library than torch for a network of torch, whose own error does not say what to do."""
    network = model.function if isinstance(model, ScoreFunction) else model
    is_network = any(kind.__module__.startswith("torch.nn") for kind in type(network).__mro__)
    if is_network and not array_api_compat.is_torch_array(x):
        raise TypeError("`model` is a torch network, and `samples` are not of torch. Pass `torch.as_tensor(samples)`.")


def _refuse_excluded_points(model: Model, x: Array, scores: Any) -> None:
    """Refuse points where the score is not finite: the model gives them no density, and no data are missing there."""
    if not arrays.is_array(scores) or tuple(scores.shape) not in (tuple(x.shape), (x.shape[0],)):
        return
    if not namespace(scores).isdtype(scores.dtype, ("real floating", "integral")):
        return  # refused by its dtype
    found = to_host(scores).reshape(x.shape[0], -1)
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if bad.size:
        raise ValueError(
            f"`model.score(samples)` must be finite, but {bad.size} of {x.shape[0]} rows hold NaN or infinity (first: "
            f"row {bad[0]}), although the data are finite there: the model gives these points no density, or its score "
            'overflows. Say where the model ends, `sb.from_score(f, support=(0, None))`; `outside="contaminated"` then '
            "counts points beyond the edge as contaminated. Otherwise mend the score, or leave these points out."
        )


def score_of(model: Model, x: Array) -> Array:
    """``model.score(x)``; in single precision where the model says that double is the wrong dtype.

    The model gets a copy, since it may work in place.
    """
    try:
        return model.score(private_copy(x))
    except (TypeError, ValueError, RuntimeError) as error:
        if arrays.dtype_name(x) != "float64" or not _ABOUT_DTYPES.search(str(error)):
            raise
    xp = namespace(x)
    narrow = xp.astype(x, xp.float32)
    _refuse_rounding(x, narrow)
    return xp.astype(model.score(narrow), x.dtype)


def _refuse_rounding(x: Array, narrow: Array) -> None:
    """Refuse single precision where it moves points by more than a thousandth of their spread, far from 0."""
    wide, moved = to_host(x), np.abs(to_host(narrow).astype(np.float64) - to_host(x))
    spread = np.median(np.abs(wide - np.median(wide, axis=0)), axis=0)
    share = np.max(moved, axis=0)[spread > 0.0] / spread[spread > 0.0]
    if share.size and share.max() > _ROUNDING:
        raise ValueError(
            f"`model` takes single precision only, and rounding to it moves `samples` by up to {share.max():.2g} of "
            "their spread. Subtract a constant from the data, and from what the model expects; or give a model in "
            "double precision, such as `network.double()`."
        )


def _refuse_what_is_no_model(model: Any) -> None:
    if isinstance(model, type):
        name = model.__name__
        raise TypeError(f"`model` must be an instance, got the class {name}; make one: `{name}(...)`.")
    if model is None or isinstance(model, (str, bytes, Number, dict)):
        raise TypeError(f"`model` must be {_ACCEPTED}; got {model!r}.")
    if is_array_like(model):
        kind = "a list" if isinstance(model, (list, tuple)) else f"an array of shape {np.shape(model)}"
        raise TypeError(
            f"`model` is {kind}, which does not say what it is. For scores ∇log p at the rows write "
            "`sb.from_scores(array)`; for a second sample `sb.region_test(x, sb.from_draws(array))`; "
            "for predictions of each row `sb.predictive_test(y, predictions)`."
        )


def _refuse_by_name(model: Any) -> None:
    """A log density is no score, and in one dimension its shape does not tell; its name often does."""
    known = Knowledge(model)
    if known.name in LOG_DENSITIES + DENSITIES:
        _explain_log_density(model, f"the function `{known.name}`", known.name, known.name)


def _refuse_what_has_no_score(model: Any) -> None:
    """Refuse objects of no library that we know, with a density or a mass function."""
    known, name = Knowledge(model), type(model).__name__
    if known.is_discrete:
        refuse_discrete(name)
    if (method := known.density_method) is not None:
        _explain_log_density(model, f"an object of type {name} with `{method}`", f"model.{method}", method)


def refuse_discrete(name: str) -> NoReturn:
    """Refuse a distribution on separate points."""
    raise TypeError(
        f"`model` is an object of type {name}, a discrete distribution, which has no score ∇log p. Use a test for "
        "counts, such as a chi-squared test; or, where the counts are large, test a density by "
        "`radius=sb.Wasserstein.rounding(1.0)`."
    )


def _explain_log_density(model: Any, what: str, expression: str, method: str) -> NoReturn:
    library, is_density = Knowledge(model).library, method in DENSITIES
    function = f"lambda x: np.log({expression}(x))" if is_density else expression
    raise TypeError(
        f"`model` is {what}, a {'density' if is_density else 'log density'} and not a score ∇log p; "
        f'use `sb.from_log_density({function}, backend="{_BACKEND_FOR.get(library, "numerical")}")`.'
    )
