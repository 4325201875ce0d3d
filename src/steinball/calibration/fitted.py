"""What a calibration knows of a model that was fitted on the tested data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from steinball.arrays import Floats
from steinball.calibration.base import Calibration
from steinball.models.base import Model
from steinball.problem import Problem

__all__ = ["FittedCalibration", "FittedModel"]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, and how it came from its data.

    Parameters
    ----------
    model : Model
        The fitted model.
    refit : callable
        (n, d) data to the model fitted on them.
    scores : callable, optional
        Parameter scores ∂ log p/∂η of the fitted model, (n, d) to (n, p); ``None`` where they are not known.
    influence : (n, p) array, optional
        Influence of every point on the parameters. ``None``, where ``scores`` are known, says that the fit minimizes
        the KSD itself.
    contaminated : bool
        Whether some of the data may be anything, so that expectations must be over draws of the model.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> def fit(x):
    ...     return sb.models.Gaussian(mean=x.mean(), sd=x.std())
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> fitted = sb.calibration.FittedModel(fit(x), refit=fit)
    >>> fitted.refit(x + 1.0).mean - fitted.model.mean
    array([1.])
    """

    model: Model
    refit: Callable[[Floats], Model]
    scores: Callable[[Floats], Floats] | None = None
    influence: Floats | None = None
    contaminated: bool = False


class FittedCalibration(Calibration):
    """A calibration that imitates the fit along with the data; :func:`steinball.fit_test` tells it of the fit.

    Examples
    --------
    >>> import steinball as sb
    >>> all(isinstance(made, sb.calibration.FittedCalibration) for made in (
    ...     sb.ProjectedBootstrap(999), sb.RefitBootstrap(199)))
    True
    """

    @abstractmethod
    def knowing(self, fitted: FittedModel, problem: Problem, seed: np.random.SeedSequence) -> Self:
        """The same calibration for this fit to these data."""

    def _unfitted(self) -> TypeError:
        return TypeError(
            f"`{type(self).__name__}` is for models that were fitted on the tested data, and must know how. Use "
            "`sb.fit_test(x, family, calibration=...)`; for a model that is known, WeightedBootstrap(999)."
        )
