"""Is p(y | x) good enough? A test of predictions by what lies in ranges of features and of the PIT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from steinball import arrays
from steinball.arrays import Floats
from steinball.cautions import RoundedDataWarning
from steinball.checks.dependence import dependent_values
from steinball.evidence.predictive import PredictiveEvidence
from steinball.frames import frame_columns
from steinball.gof.regions import tolerated_set
from steinball.models.registry import read_prediction
from steinball.predictive.law import FITTED, Observed, Prediction, plain_prediction
from steinball.predictive.pit import Redraw, as_rows
from steinball.predictive.table import Features
from steinball.radius.base import Radius
from steinball.record import recorded
from steinball.regions.source import find_grid
from steinball.remarks import Remark
from steinball.results.predictive import PredictiveResult

_COARSE = 0.1  # of the middle half of a law


@recorded
def predictive_test(
    y: Any,
    predictive: Any,
    features: Any = None,
    *,
    contamination: float | None = None,
    tolerance: float | None = None,
    rows: str = "any",
    fitted: str | None = None,
    refit: Callable[[Any], Any] | None = None,
    censoring: Any = None,
    resolution: float | None = None,
    ordered: bool = False,
    proven: bool = False,
    n_resamples: int = 299,
    level: float = 0.05,
    rng: Any = None,
) -> PredictiveResult:
    r"""Are predictive laws right for all rows but a tolerated share, whatever the type of y?

    .. math:: [a_i, b_i] = [F_i(y_i^-), F_i(y_i)], \qquad
       D_g = \sum_i E_i g - \langle N, g \rangle - t_g \min(\lfloor \varepsilon n \rfloor, r_g),

    with the PIT intervals of rows i spread over cells of [0, 1] and summed in bins of every feature, N. Views g ≥ 0
    look for ranges of a feature and of the PIT that are short of rows; the largest shortage is compared with that of
    fresh rows of the predictive laws (``docs/theory/predictive.md``).

    Parameters
    ----------
    y : array, shape (n,)
        Observed values: numbers, counts, or classes.
    predictive : object
        The law of each row: a frozen SciPy distribution with vector parameters; a pair (mean, sd); draws (n, S) with
        S ≥ 19; class probabilities (n, J); a function ``cdf(y)``; a result of statsmodels; an estimator of
        scikit-learn, which predicts from ``features``; an InferenceData or DataTree with ``posterior_predictive``, and
        ``log_likelihood`` for leave-one-out; a distribution of torch or NumPyro with one entry a row.
    features : frame, dict of columns, or array (n, p); optional
        What a misfit may depend on; numbers, dates or text. The prediction, the order of the rows, and the covariates
        of a statsmodels result are added.
    contamination : float
        ε: up to this share of the rows may be anything, and the others follow their laws. Give it or ``tolerance``.
    tolerance : float
        ε: up to this share of the rows may have been changed, and in no region may the shares of rows and predictions
        differ by more.
    rows : {"any", "independent"}
        Contaminated rows lie anywhere, or are independent of the features, which finds more.
    fitted : {"same-rows", "other-rows", "loo"}, optional
        Whether the model was fitted to these rows. Results of statsmodels and estimators of scikit-learn are taken
        for fitted to these rows unless told otherwise.
    refit : callable, optional
        From y to the ``predictive`` of a model fitted to that y: the null at share 0 of a model that was fitted to
        these rows. statsmodels and scikit-learn are refitted without it.
    censoring : float or array, shape (n,), optional
        Values at which rows are, or would be, censored from the right; infinity for none.
    resolution : float, optional
        y of a continuous law is rounded to multiples of it.
    ordered : bool
        Whether more than two classes have an order.
    proven : bool
        With ``rows="any"``: the p-value with a proof, which is larger.
    n_resamples : int
        Number of simulated samples.
    level : float
        Level α of the test.
    rng : None, int, SeedSequence or Generator
        Source of randomness (SPEC 7).

    Returns
    -------
    PredictiveResult

    Notes
    -----
    Proved at every n for known laws and independent rows: the level with ``rows="independent"``, at share 0, with
    ``tolerance``, and with ``proven=True``; [δ_L, δ_U]. Simulated only: ``rows="any"`` without ``proven`` (at most .02
    in seven adversarial placements), refits, robust fits, leave-one-out. Refits hold at share 0 alone; at a share above
    0 a model that was fitted to these rows has to be robust, and what a share ε of bad rows can do to such a fit is
    forgiven: shifts and log scales of up to 1.75 ε, and slopes in proportion to the covariates of the outermost rows.
    *Good enough* is never said of a model that was fitted to these rows.

    Not seen is what no feature shows: interactions that were not passed, missing covariates, faults inside of a range
    that cancel. Bad rows at extreme covariates bias robust fits by more than is forgiven (rejected .37). Draws that
    share parameter values between rows are not independent (a true model was rejected .65): use leave-one-out. Rows of
    a time series are not independent: test its innovations.

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0.0, 4.0, size=400)
    >>> y = rng.normal(x, 0.5 + 0.5 * x)
    >>> print(sb.predictive_test(y, (x, 1.5), {"dose": x}, contamination=0.05, rng=0).region.partition(":")[0])
    For dose between 0.001203 and 2.216 (200 rows) the prediction is too wide
    """
    tolerated = tolerated_set(contamination, tolerance)
    n_resamples = arrays.check_resamples(n_resamples)
    level, seed = arrays.check_level(level, n_resamples, 1 if tolerance is None else 2), arrays.as_seed(rng)
    prediction = _prediction(predictive, y, features, ordered, fitted, refit)
    _check(prediction, tolerated, refit, proven)
    values = prediction.law.read(y)
    step = None if resolution is None else arrays.as_number(resolution, "resolution", low=0.0, open_low=True)
    observed = Observed(_limits(censoring, values.size), step)
    evidence = PredictiveEvidence(
        y=values.astype(np.float64),
        pit=prediction.law.pit(y, observed, arrays.generator_at(seed, 9)),
        features=_features(features, prediction, values.size),
        prediction=prediction,
        rows=arrays.check_choice(rows, "rows", ("any", "independent")),
        redraw=_redraw(prediction, observed, values, features, ordered),
        proven=proven,
        own=float(tolerated.amount or 0.0),
        n_resamples=n_resamples,
        seed=seed,
    )
    told = (*prediction.remarks, *evidence.remarks(tolerated), *_dependent(evidence), *_rounded(evidence))
    return PredictiveResult.of(evidence, tolerated, level, told)


def _dependent(evidence: PredictiveEvidence) -> Iterator[Remark]:
    """A remark where PIT of rows near each other are more alike than others; a place in each interval is drawn."""
    low, high = evidence.pit.low, evidence.pit.high
    u = (low + (high - low) * np.random.default_rng(0).random(low.shape))[0]
    if evidence.pit.fresh.outputs == 1 and np.unique(np.clip(u, 1e-6, 1.0 - 1e-6)).size > u.size / 2:
        for remark in dependent_values(scipy.special.ndtri(np.clip(u, 1e-6, 1.0 - 1e-6))[:, None]):
            yield remark._replace(remedy="Where the order means nothing, shuffle the rows; otherwise test innovations.")


def _rounded(evidence: PredictiveEvidence) -> Iterator[Remark]:
    """A remark where y lies on a grid that is coarse beside continuous laws."""
    pit, grid = evidence.pit, find_grid(evidence.y[:, None])
    if grid is None or pit.quantiles is None or not pit.fresh.points:
        return
    low, high = pit.quantiles(np.array([0.25, 0.75]))
    if (step := float(grid.step[0])) > _COARSE * np.median(high - low):
        cause = f"`y` lies on a grid of step {step:.6g}, and `predictive` is continuous: no rounded values follow it."
        yield Remark(RoundedDataWarning, cause, f"Pass `resolution={step:.6g}`, or a law of counts.")


def _prediction(
    predictive: Any, y: Any, features: Any, ordered: bool, fitted: str | None, refit: Callable[[Any], Any] | None
) -> Prediction:
    """What is predicted, with what the user says of the fit."""
    found = predictive if isinstance(predictive, Prediction) else read_prediction(predictive, y, features)
    found = found or plain_prediction(predictive, y, ordered)
    if ordered and "ordered" in vars(found.law):
        found = replace(found, law=replace(found.law, ordered=True))  # type: ignore[type-var]
    if refit is not None:
        found = replace(found, fitted=found.fitted or "same-rows", refit=refit)
    if fitted is None:
        return found
    arrays.check_choice(fitted, "fitted", FITTED[1:])
    if fitted == "loo" and found.fitted != "loo":
        raise ValueError('`fitted="loo"` needs an InferenceData or DataTree with `log_likelihood`.')
    if fitted == "other-rows" and found.own_rows:
        raise ValueError(
            '`fitted="other-rows"` needs the law of those rows: this object has a spread of the rows that it was '
            "fitted to alone. Pass a pair (mean, sd), with sd from the fitted rows, or a frozen law."
        )
    return replace(found, fitted=fitted)


def _check(prediction: Prediction, tolerated: Radius, refit: Any, proven: bool) -> None:
    """Refuse what does not go together."""
    if refit is not None and tolerated.amount:
        raise ValueError(
            "`refit` holds where nothing is tolerated: bad rows have moved the fit to these rows, and do not move "
            "refits. Pass a robust fit without `refit`, or predictions for rows that the model was not fitted to."
        )
    if proven and prediction.fitted in ("same-rows", "loo"):
        raise ValueError("`proven=True` is for laws that were not fitted to these rows; nothing is proved of a fit.")


def _limits(censoring: Any, n: int) -> Floats | None:
    """A limit for each row, or one for all."""
    if censoring is None:
        return None
    limits = arrays.as_numbers(censoring, "censoring")
    return as_rows(np.full(n, limits) if limits.ndim == 0 else limits, "censoring", n)


def _redraw(prediction: Prediction, observed: Observed, y: Floats, features: Any, ordered: bool) -> Redraw | None:
    """Simulates y, fits the model again, and gives its PIT intervals."""
    refit, n = prediction.refit, y.size
    if refit is None or prediction.fitted != "same-rows":
        return None

    def redraw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        drawn = prediction.law.draw(n, rng)
        drawn = drawn if drawn.dtype.kind not in "fiu" else observed(drawn, y[0])
        again = _prediction(refit(drawn), drawn, features, ordered, None, None)
        pit = again.law.pit(drawn, observed, rng, fresh=False)
        return pit.low, pit.high

    return redraw


def _features(features: Any, prediction: Prediction, n: int) -> Features:
    """What the user passed, the covariates, the prediction and the order of the rows; each that varies, once."""
    given = {**_columns(features), **prediction.covariates}
    for name, column in given.items():
        if len(column) != n:
            raise ValueError(f"Feature `{name}` must have the {n} rows of `y`, got {len(column)}.")
    own = {**prediction.law.center(n), "row": np.arange(1.0, n + 1.0)}
    columns = {**given, **{name: column for name, column in own.items() if name not in given}}
    return Features.of(columns, tuple(map(str, prediction.covariates or given))).distinct()


def _columns(features: Any) -> dict[str, Any]:
    """Columns by name."""
    if features is None:
        return {}
    if isinstance(features, Mapping):
        return {str(name): column for name, column in features.items()}
    if (framed := frame_columns(features)) is not None:
        return {name: column.to_numpy() if "to_numpy" in dir(column) else column for name, column in framed}
    values = arrays.as_numbers(features, "features")
    if values.ndim == 1:
        return {"x": values}
    if values.ndim != 2:
        raise ValueError(f"`features` must have shape (n, p), got {values.shape}.")
    return {f"x{j + 1}": column for j, column in enumerate(values.T)}
