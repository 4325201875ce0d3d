"""Few rows are remarked, and rows that are none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import steinball as sb
from steinball.checks import FewRowsWarning
from steinball.checks.sizes import warn_if_few

pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((4, 1000), r"looks like \(chain, draw\), 4 chains .*`x\.reshape\(-1, 1\)`.*chains=4"),
        ((20, 30), r"fewer observations than dimensions.*pass the transpose"),
        ((12, 20), r"fewer observations than dimensions"),
        ((3, 1), r"3 observations are too few.*at least 4"),
    ],
)
def test_few_rows_are_remarked_by_their_likely_cause(shape: tuple[int, int], said: str) -> None:
    with pytest.warns(FewRowsWarning, match=said):
        warn_if_few(np.zeros(shape))


def test_ordinary_shapes_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((4, 1), (4, 4), (500, 10), (500, 500)):
            warn_if_few(np.zeros(shape))


def test_every_test_remarks_it() -> None:
    x = np.random.default_rng(0).normal(size=(4, 40))
    model = sb.models.Gaussian(np.zeros(40))
    few = sb.BoundaryBootstrap(19)
    with pytest.warns(FewRowsWarning):
        sb.ksd_test(x, model)
    with pytest.warns(FewRowsWarning):
        sb.robust_ksd_test(x, model, 0.05, calibration=few)
    with pytest.warns(FewRowsWarning):
        sb.ksdagg_test(x, model, n_resamples=199, n_resamples_level=19)
    with pytest.warns(FewRowsWarning):
        sb.robust_ksdagg_test(x, model, 0.05, calibration=few)
