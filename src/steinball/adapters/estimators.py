"""Fitted estimators of scikit-learn and results of statsmodels: their densities, and what they predict for the rows."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_numbers
from steinball.frames import frame_columns
from steinball.models.autodiff import from_log_density
from steinball.models.base import Model
from steinball.models.gaussian import Gaussian
from steinball.models.kernel_exponential import KernelDensity
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import GaussianMixture
from steinball.models.registry import Adapter, class_names, read_model
from steinball.predictive.law import ClassProbabilities, Distribution, Law, Prediction
from steinball.tilts.scatter import median_and_scales


def _symmetric(cov: Any) -> Floats:
    """Covariances in float64, and symmetric: those of a fit in float32 are so to its rounding."""
    cov = np.asarray(cov, dtype=np.float64)
    return np.asarray((cov + np.swapaxes(cov, -1, -2)) / 2.0)


def _mixture(fitted: Any) -> GaussianMixture:
    """The mixture with the fitted parameters; of a Bayesian mixture the density that its own ``sample`` draws from."""
    weights, means = np.asarray(fitted.weights_, dtype=np.float64), np.asarray(fitted.means_, dtype=np.float64)
    (k, d), cov = means.shape, np.asarray(fitted.covariances_, dtype=np.float64)
    if fitted.covariance_type in ("diag", "spherical"):
        cov = cov.reshape(k, -1, 1) * np.eye(d)
    elif fitted.covariance_type == "tied":
        cov = np.broadcast_to(cov, (k, d, d))
    return GaussianMixture(weights / weights.sum(), means, _symmetric(cov))


def _kernel_density(fitted: Any) -> KernelDensity:
    if fitted.kernel != "gaussian" or fitted.metric != "euclidean":
        raise TypeError(
            f'`model` is a KernelDensity with kernel="{fitted.kernel}" and metric="{fitted.metric}", whose density has '
            'edges or corners and no score to test by; fit one with kernel="gaussian" and metric="euclidean".'
        )
    weights = fitted.tree_.sample_weight
    points = np.asarray(fitted.tree_.data, dtype=np.float64)
    return KernelDensity(points, float(fitted.bandwidth_) ** 2, None if weights is None else np.asarray(weights))


def _gaussian(fitted: Any) -> Gaussian:
    return Gaussian(fitted.location_, _symmetric(fitted.covariance_))


def _low_rank(fitted: Any) -> Gaussian:
    return Gaussian(fitted.mean_, _symmetric(fitted.get_covariance()))


#: By the name of the class: the attributes that it has once it is fitted, and the model that it then is.
_ESTIMATORS: dict[str, tuple[set[str], Callable[[Any], Any]]] = {
    "BaseMixture": ({"weights_", "means_", "covariances_"}, _mixture),
    "KernelDensity": ({"tree_", "bandwidth_"}, _kernel_density),
    "EmpiricalCovariance": ({"location_", "covariance_"}, _gaussian),
    **dict.fromkeys(("PCA", "FactorAnalysis"), ({"components_", "mean_", "get_covariance"}, _low_rank)),
}


class SciKitLearn(Adapter):
    """Models and predictions of scikit-learn; what fits is a family whatever library it is from."""

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of a fitted estimator; ``None`` for those without a density."""
        if not class_names(thing).intersection(_ESTIMATORS):
            return None
        found = _by_attributes(thing)
        if found is None:
            raise ValueError(f"`model` is a {type(thing).__name__} that is not fitted; call its `fit(data)` first.")
        return found

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """What a regressor or classifier predicts from the features; ``None`` for other estimators."""
        if "predict" not in dir(thing) or "fit" not in dir(thing):
            return None
        x = _inputs(thing, features)
        robust = bool(class_names(thing.steps[-1][1] if "steps" in dir(thing) else thing) & _ROBUST)
        return Prediction(
            _predicted(thing, x, y, robust),
            fitted="same-rows",
            robust=robust,
            refit=lambda drawn: Prediction(_predicted(copy.deepcopy(thing).fit(x, drawn), x, drawn, robust)),
            own_rows="predict_proba" not in dir(thing) and not _has_std(thing),
            instead="a robust estimator, such as `sklearn.linear_model.HuberRegressor`",
        )


_ROBUST = {"HuberRegressor", "TheilSenRegressor", "RANSACRegressor"}


def _inputs(estimator: Any, features: Any) -> Any:
    """The columns that an estimator predicts from, out of the features."""
    if features is None:
        raise TypeError("`features` must hold what the estimator in `predictive` predicts from, got None.")
    if isinstance(features, Mapping):
        return np.column_stack([np.asarray(column) for column in features.values()])
    if frame_columns(features) is None:
        return as_numbers(features, "features")
    if "feature_names_in_" not in dir(estimator):
        return features
    names = list(estimator.feature_names_in_)
    return features.select(names) if "select" in dir(features) else features[names]  # pandas has no `select`


def _predicted(estimator: Any, x: Any, y: Any, robust: bool) -> Law:
    """Class probabilities, or a normal law with the estimator's own or the residuals' standard deviation."""
    from scipy.stats import norm

    if "predict_proba" in dir(estimator):
        return ClassProbabilities(np.asarray(estimator.predict_proba(x), dtype=np.float64), estimator.classes_)
    if "classes_" in dir(estimator):
        raise TypeError(f"`predictive` is a {type(estimator).__name__} without `predict_proba`: it gives no chances.")
    if _has_std(estimator):
        return Distribution(norm(*estimator.predict(x, return_std=True)))
    mean = np.ravel(estimator.predict(x))
    return Distribution(norm(mean, _residual_sd(as_numbers(y, "y") - mean, estimator, robust)))


def _has_std(estimator: Any) -> bool:
    return "return_std" in inspect.signature(estimator.predict).parameters


def _residual_sd(residuals: Floats, estimator: Any, robust: bool) -> float:
    """From the median of absolute residuals for a robust fit; otherwise without as many rows as there are slopes."""
    if robust:
        return float(median_and_scales(residuals[:, None], squared=False)[1][0])
    slopes = 1 + (np.size(estimator.coef_) if "coef_" in dir(estimator) else 0)
    return float(np.sqrt(np.sum(residuals**2) / max(1, residuals.size - slopes)))


def fitted_copy(estimator: Any, x: Floats) -> Model:
    """The model of a copy of an estimator, fitted to ``x``; the user's own is left as it was."""
    fresh = copy.deepcopy(estimator)
    found = fresh.fit(x)
    return fitted_model(fresh if found is None else found)


def fitted_model(fitted: Any) -> Model:
    """The model that a fitted object is, by the attributes that it has, whatever library it comes from."""
    found = _by_attributes(fitted)
    if found is None and "score_samples" in dir(fitted):
        sample = partial(_sample, fitted) if "sample" in dir(fitted) else None
        found = from_log_density(fitted.score_samples, backend="numerical", sample=sample)
    if found is None:
        found = fitted if Knowledge(fitted).has_score else read_model(fitted)
    if found is None:
        raise TypeError(f"`family.fit(x)` must return a model with `score(x)`, got a {type(fitted).__name__}.")
    return found  # type: ignore[no-any-return]


def _by_attributes(fitted: Any) -> Any:
    there = set(dir(fitted))
    return next((build(fitted) for attributes, build in _ESTIMATORS.values() if attributes <= there), None)


def _sample(fitted: Any, n: int, rng: Any = None) -> Any:
    draws = fitted.sample(n, random_state=int(np.random.default_rng(rng).integers(2**31)))
    return draws[0] if isinstance(draws, tuple) else draws


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


ADAPTERS = {"sklearn": SciKitLearn(), "statsmodels": StatsModels()}
