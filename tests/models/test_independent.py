"""Products of models of one column each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models.knowledge import Knowledge

MODEL = sb.models.Independent([stats.norm(1.0, 2.0), stats.gamma(2.0), sb.models.StudentT(4.0)])


@pytest.mark.exact
def test_the_product_of_gaussians_is_a_gaussian() -> None:
    model: Any = sb.models.Independent([stats.norm(1.0, 2.0), stats.norm(-1.0)])
    whole: Any = sb.models.Gaussian([1.0, -1.0], sd=[2.0, 1.0])
    x = whole.sample(20, rng=0)
    np.testing.assert_allclose(model.score(x), whole.score(x))
    np.testing.assert_allclose(model.log_density(x), whole.log_density(x))
    np.testing.assert_allclose(model.to_base(x), whole.to_base(x))
    np.testing.assert_allclose(model.location, whole.location)
    np.testing.assert_allclose(model.covariance, whole.covariance)
    assert model.growth == 1.0


def test_it_knows_what_all_columns_know() -> None:
    x = MODEL.sample(300, rng=0)
    assert x.shape == (300, 3)
    assert str(MODEL.support) == "[(-∞, ∞), (0, ∞), (-∞, ∞)]"
    assert not sb.robust_ksd_test(x, MODEL, contamination=0.05, rng=0).rejected
    assert sb.robust_ksd_test(x + 1.0, MODEL, contamination=0.05, rng=0).rejected
    less = Knowledge(sb.models.Independent([stats.norm(), lambda x: -x]))
    assert (less.sampler, less.log_density, less.location, less.growth, less.to_base) == (None,) * 5
    assert not less.verified


def test_columns_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="got none"):
        sb.models.Independent([])
    with pytest.raises(ValueError, match="entry 1 is Gaussian"):
        sb.models.Independent([stats.norm(), sb.models.Gaussian([0.0, 0.0])])
    with pytest.raises(TypeError, match="does not say what it is"):
        sb.models.Independent([np.zeros(3)])
    with pytest.raises(ValueError, match="`model` has dimension 3"):
        sb.ksd_test(np.zeros((5, 2)), MODEL)
