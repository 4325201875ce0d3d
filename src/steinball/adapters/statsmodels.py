"""statsmodels: what results of regressions, generalized linear, robust and choice models predict for their rows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.models.registry import Adapter, class_names
from steinball.predictive.law import ClassProbabilities, Distribution, Law, Prediction

_CONSTANTS = ("const", "Intercept")


class StatsModels(Adapter):
    """Predictions of statsmodels."""

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """The law of every row that a result was fitted to; ``None`` for anything but a result."""
        if "model" not in dir(thing) or "endog" not in dir(thing.model):
            return None
        model = thing.model
        self._check_rows(model, np.asarray(y), model.endog)
        names = [str(name) for name in (model.exog_names or ())] if model.exog is not None else []
        columns = dict(zip(names, np.asarray(model.exog).T, strict=False)) if names else {}
        return Prediction(
            _law(thing),
            fitted="same-rows",
            robust="RLM" in class_names(model),
            covariates={name: column for name, column in columns.items() if name not in _CONSTANTS},
            refit=_refit(thing),
            own_rows=True,
            instead="`statsmodels.api.RLM`, or rows with tails below .001 left out of the fit",
        )

    def _check_rows(self, model: Any, y: Any, own: Any) -> None:
        trials = _trials(model)
        if y.shape == np.shape(own) and y.dtype.kind in "fiub" and np.allclose(y, own * trials):
            return
        wanted = "the counts of successes" if np.any(trials != 1.0) else "`result.model.endog`"
        raise ValueError(
            f"`y` must be the y that `predictive` was fitted to, {wanted} of shape {np.shape(own)}, got shape "
            f"{y.shape} or other values. For other rows pass the law itself, such as `scipy.stats.norm(mean, sd)`."
        )


def _law(result: Any) -> Law:
    """The fitted law of every row."""
    kinds = class_names(result.model)
    if kinds & {"MNLogit", "OrderedModel"}:
        return ClassProbabilities(np.asarray(result.predict()), None, "OrderedModel" in kinds)
    if kinds & {"Logit", "Probit"} or _is_binary(result.model):
        chance = np.asarray(result.predict())
        return ClassProbabilities(np.column_stack([1.0 - chance, chance]))
    if kinds & {"RLM", "RegressionModel"}:
        return Distribution(_normal(result, kinds))
    if "get_distribution" not in dir(result):
        raise TypeError(
            f"`predictive` is a {type(result).__name__}, whose `get_distribution` statsmodels does not have. Pass the "
            "law of each row, such as `scipy.stats.norm(result.fittedvalues, sd)`, and `refit`."
        )
    given = {name: vars(result.model).get(name) for name in ("n_trials", "var_weights")}
    taken = inspect.signature(result.get_distribution).parameters  # without them it would take 1 for all rows
    return Distribution(result.get_distribution(**{k: v for k, v in given.items() if k in taken and v is not None}))


def _is_binary(model: Any) -> bool:
    """Whether a generalized linear model is one of single trials."""
    return "Binomial" in class_names(vars(model).get("family")) and bool(np.all(_trials(model) == 1))


def _trials(model: Any) -> Any:
    return np.asarray(vars(model).get("n_trials", 1))


def _normal(result: Any, kinds: set[str]) -> Any:
    """Errors of least squares have variance ``scale``, over the weights; those of a robust fit have it as sd."""
    from scipy.stats import norm

    if "RLM" in kinds:
        return norm(np.asarray(result.fittedvalues), float(result.scale))
    if "GLS" in kinds and np.ndim(result.model.sigma) == 2:
        raise TypeError("`predictive` is a GLS with correlated errors; pass the law of its whitened residuals.")
    weights: Floats = np.asarray(vars(result.model).get("weights", 1.0), dtype=np.float64)
    return norm(np.asarray(result.fittedvalues), np.sqrt(float(result.scale) / weights))


def _refit(result: Any) -> Callable[[Any], Any]:
    """The same model, fitted to another y."""
    model = result.model
    settings = {name: value for name, value in model._get_init_kwds().items() if value is not None}
    trials = settings.pop("n_trials", None)
    norm = {"M": model.M} if "RLM" in class_names(model) else {}
    quiet = {} if class_names(model) & {"RLM", "RegressionModel", "GLM"} else {"disp": 0}

    def refit(y: Any) -> Any:
        endog = np.column_stack([y, trials - y]) if trials is not None and np.any(trials != 1) else y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hundreds of fits would each say what the first one says
            again = type(model)(endog, model.exog, **settings, **norm).fit(**quiet)
        return Prediction(_law(again))

    return refit


ADAPTER = StatsModels()
