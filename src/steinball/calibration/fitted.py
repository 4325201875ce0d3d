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
from steinball.stein import SteinProblem

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
    """

    model: Model
    refit: Callable[[Floats], Model]
    scores: Callable[[Floats], Floats] | None = None
    influence: Floats | None = None
    contaminated: bool = False


class FittedCalibration(Calibration):
    """A calibration that imitates the fit along with the data; :func:`steinball.fit_test` tells it of the fit."""

    @abstractmethod
    def knowing(self, fitted: FittedModel, problem: SteinProblem, seed: np.random.SeedSequence) -> Self:
        """The same calibration for this fit to these data."""

    def _unfitted(self) -> TypeError:
        return TypeError(
            f"`{type(self).__name__}` is for models that were fitted on the tested data, and must know how. Use "
            "`sb.fit_test(x, family, calibration=...)`; for a model that is known, WeightedBootstrap(999)."
        )
