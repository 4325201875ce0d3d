"""Fitted estimators of scikit-learn that have a density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.models.adapters.kernel_density import KernelDensity
from steinball.models.gaussian import Gaussian
from steinball.models.mixture import GaussianMixture


def adapt(model: Any, dimension: int | None) -> Any:
    """The model of a fitted estimator; ``None`` for those without a density."""
    for cls in type(model).__mro__:
        if cls.__name__ in _ESTIMATORS:
            fitted, build = _ESTIMATORS[cls.__name__]
            if fitted not in vars(model):
                raise ValueError(f"`model` is a {type(model).__name__} that is not fitted; call its `fit(data)` first.")
            return build(model)
    return None


def _mixture(model: Any) -> GaussianMixture:
    """Of a Bayesian mixture the plug-in density, which its own ``sample`` draws from."""
    weights, means = np.asarray(model.weights_, dtype=np.float64), np.asarray(model.means_, dtype=np.float64)
    k, d = means.shape
    cov = np.asarray(model.covariances_, dtype=np.float64)
    if model.covariance_type == "diag":
        cov = np.stack([np.diag(row) for row in cov])
    elif model.covariance_type == "spherical":
        cov = cov[:, None, None] * np.eye(d)
    elif model.covariance_type == "tied":
        cov = np.broadcast_to(cov, (k, d, d))
    return GaussianMixture(weights / weights.sum(), means, _symmetric(cov))


def _symmetric(cov: Any) -> Floats:
    """Covariances in float64, and symmetric: those of a fit in float32 are so to its rounding."""
    cov = np.asarray(cov, dtype=np.float64)
    return np.asarray((cov + np.swapaxes(cov, -1, -2)) / 2.0)


def _kernel_density(model: Any) -> KernelDensity:
    if model.kernel != "gaussian" or model.metric != "euclidean":
        raise TypeError(
            f'`model` is a KernelDensity with kernel="{model.kernel}" and metric="{model.metric}", whose density has '
            'edges or corners and no score to test by; fit one with kernel="gaussian" and metric="euclidean".'
        )
    weights = model.tree_.sample_weight
    points = np.asarray(model.tree_.data, dtype=np.float64)
    return KernelDensity(points, float(model.bandwidth_) ** 2, None if weights is None else np.asarray(weights))


_ESTIMATORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "BaseMixture": ("means_", _mixture),
    "KernelDensity": ("tree_", _kernel_density),
    "EmpiricalCovariance": ("covariance_", lambda model: Gaussian(model.location_, _symmetric(model.covariance_))),
    "PCA": ("components_", lambda model: Gaussian(model.mean_, _symmetric(model.get_covariance()))),
    "FactorAnalysis": ("components_", lambda model: Gaussian(model.mean_, _symmetric(model.get_covariance()))),
}
"""By the name of the class: the attribute that ``fit`` leaves, and what the estimator is then."""
