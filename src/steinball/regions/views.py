"""Views: real functions of a row, in families that have one vote each."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.regions.source import Function, Rows, Source

MOST_PAIRS = 5000  # pairs of columns that are looked at; of more, so many are chosen at random by a seed of their own

_WINSORIZED = 3.0  # standard deviations beyond which a row of the pilot part does not steer what is learned
_FAR = 1e6  # standard deviations beyond which a classifier is told this number
_SEED = 20230918
_WHOLE = "the sum of squares of all columns", "the sum of all columns", "the largest of all columns in size"


class Family(NamedTuple):
    """Views with one vote together.

    Attributes
    ----------
    words : sequence of str
        What each view is.
    values : callable
        ``values(rows, part)`` gives the views in the slice ``part`` at every row, (views, n).
    columns : int
        The first so many views are the user's columns.
    """

    words: Sequence[str]
    values: Callable[[Rows, slice], Floats]
    columns: int = 0

    @property
    def size(self) -> int:
        """Number of views."""
        return len(self.words)

    @np.errstate(over="ignore", invalid="ignore")
    def at(self, rows: Rows, part: slice = slice(None)) -> Floats:
        """The values at rows; squares of what is far out may be infinite, or NaN, which lies in no region."""
        return self.values(rows, part)


def column_families(source: Source, names: Sequence[str] | None = None) -> list[Family]:
    """The fixed views of a model: its columns, whole rows, and products of pairs of standardized columns.

    Parameters
    ----------
    source : Source
        The model.
    names : sequence of str, optional
        What the columns are called.

    Examples
    --------
    >>> [family.words[0] for family in column_families(Source(columns=3), ["height", "weight", "age"])]
    ['height', 'the sum of squares of all columns', 'product of height and weight']
    """
    d = source.columns
    called = [f"column {j + 1}" for j in range(d)] if names is None else list(names)
    given = [f"{name} given the columns before it" for name in called[1:]] if source.correlated else []
    family = Family(called + given, partial(_columns, bool(given)), d)
    if d == 1:
        return [family]
    words = _WHOLE if source.log_density is None else (*_WHOLE, "the log density of the model")
    return [family, Family(words, partial(_whole_rows, source.log_density)), _pairs(called[:1] + (given or called[1:]))]


def _columns(given: bool, rows: Rows, part: slice) -> Floats:
    return (np.concatenate([rows.x.T, rows.z[1:]]) if given else rows.x.T)[part]


def _whole_rows(density: Function | None, rows: Rows, part: slice) -> Floats:
    found = [np.einsum("ij,ij->j", rows.z, rows.z), rows.z.sum(axis=0), np.abs(rows.z).max(axis=0)]
    return np.stack(found if density is None else [*found, _one_each(density, rows.x, "log_density")])[part]


def _pairs(called: Sequence[str]) -> Family:
    first, second = np.triu_indices(len(called), 1)
    some = np.sort(np.random.default_rng(_SEED).permutation(len(first))[:MOST_PAIRS])
    words = [f"product of {called[i]} and {called[j]}" for i, j in zip(first[some], second[some], strict=True)]
    return Family(words, partial(_products, first[some], second[some]))


def _products(first: NDArray[np.intp], second: NDArray[np.intp], rows: Rows, part: slice) -> Floats:
    return np.asarray(rows.z[first[part]] * rows.z[second[part]])


def user_family(views: Function | Sequence[Function] | Mapping[str, Function]) -> Family:
    """The views of a user: functions of rows (n, d) in the user's own columns that give one number a row.

    Examples
    --------
    >>> family = user_family({"ratio": lambda x: x[:, 0] / x[:, 1]})
    >>> family.words[0], family.values(Rows(np.array([[1.0, 2.0]]), np.zeros((2, 1))), slice(None))
    ('ratio', array([[0.5]]))
    """
    listed = views if isinstance(views, (Mapping, list, tuple)) else [views]
    named = dict(listed) if isinstance(listed, Mapping) else {f"view {k}": f for k, f in enumerate(listed, 1)}
    if not named or not all(callable(view) for view in named.values()):
        raise TypeError(f"`views` must be a function, or a list or dictionary of functions, got {views!r}.")
    return Family(list(named), partial(_user_values, named))


def _user_values(named: dict[str, Function], rows: Rows, part: slice) -> Floats:
    return np.stack([_one_each(view, rows.x, word) for word, view in list(named.items())[part]])


def _one_each(view: Function, x: Floats, name: str) -> Floats:
    found = np.asarray(view(x.copy()), dtype=np.float64)
    if found.size != len(x) or np.isnan(found).any():
        raise ValueError(f"`{name}` must give one number a row, ({len(x)},), got NaN or shape {found.shape}.")
    return found.reshape(len(x))


def learned_family(pilot: Floats) -> Family:
    r"""Views learned on a pilot part of the rows, to be evaluated on the *other* rows alone.

    With w the pilot rows winsorized at ±3, m their mean and C = wwᵀ/n − I: the directions m and m thresholded at
    √(2 log d/n), the eigenvectors of C at both ends, and the forms zᵀCz with C and with C thresholded at
    √((4 log d + 1)/n).

    Parameters
    ----------
    pilot : array
        Standardized coordinates of the pilot rows, (d, n).
    """
    w = np.clip(np.nan_to_num(pilot), -_WINSORIZED, _WINSORIZED)
    d, n = w.shape
    mean, form, log_d = w.mean(axis=1), w @ w.T / n - np.eye(d), math.log(max(d, 2))
    large = np.where(np.abs(mean) > math.sqrt(2.0 * log_d / n), mean, 0.0)
    few = np.where(np.abs(form) > math.sqrt((4.0 * log_d + 1.0) / n), form, 0.0)
    ends = np.linalg.eigh(form)[1].T[sorted({0, max(d - 2, 0), d - 1})]
    shifts, forms = [v for v in (mean, large) if v.any()], [f for f in (form, few) if f.any()]
    words = [f"a direction in which the other half of the rows is shifted ({_mostly(v)})" for v in shifts]
    words += [f"a direction in which the other half of the rows spreads most or least ({_mostly(v)})" for v in ends]
    words += ["a quadratic form that the other half of the rows suggests"] * len(forms)
    return Family(words, partial(_learned_values, np.stack([*shifts, *ends]), forms))


def _learned_values(directions: Floats, forms: list[Floats], rows: Rows, part: slice) -> Floats:
    quadratic = [np.einsum("ij,ij->j", rows.z, form @ rows.z) for form in forms]
    return np.concatenate([directions @ rows.z, quadratic])[part]


def _mostly(direction: Floats) -> str:
    """The columns that a direction mostly goes along: up to three, of at least half of the largest weight."""
    size = np.abs(direction)
    some = [j for j in np.argsort(-size, kind="stable")[:3].tolist() if 2.0 * size[j] >= size.max()]
    return f"mostly column{'s' * (len(some) > 1)} {', '.join(str(j + 1) for j in sorted(some))}"


def taught(draws: Floats, n: int) -> int:
    """How many draws of a second sample teach a classifier beside n pilot rows: at most half of them."""
    return min(n, len(draws) // 2)


def classifier_family(pilot: Floats, source: Source, classifier: Any) -> Family:
    """The value of a classifier that is fitted to tell pilot rows (d, n) from as many draws of the model.

    ``classifier`` has ``fit(x, y)`` and ``decision_function(x)`` or ``predict_proba(x)``; it is copied.
    """
    if "fit" not in dir(classifier):
        wanted = "`fit(x, y)` and `decision_function(x)` or `predict_proba(x)`"
        raise TypeError(f"`classifier` must have {wanted}, as those of scikit-learn, got {classifier!r}.")
    n, draws = pilot.shape[1], source.draws
    drawn = source.draw(n, np.random.default_rng(_SEED)) if draws is None else draws[: taught(draws, n)]
    fitted = copy.deepcopy(classifier)
    fitted.fit(np.concatenate([_finite(pilot), _finite(source.rows(drawn).z)]), np.repeat([1, 0], [n, len(drawn)]))
    return Family(["the value of the classifier"], partial(_classifier_values, fitted))


def _classifier_values(fitted: Any, rows: Rows, part: slice) -> Floats:
    return _one_each(partial(_decision, fitted), _finite(rows.z), "classifier")[None][part]


def _decision(fitted: Any, x: Floats) -> Any:
    try:
        return fitted.decision_function(x)
    except AttributeError:
        return fitted.predict_proba(x)[:, 1]


def _finite(z: Floats) -> Floats:
    """Standardized coordinates (d, n) as the rows (n, d) of a classifier, finite also where a row is far out."""
    return np.clip(np.nan_to_num(z.T), -_FAR, _FAR)
