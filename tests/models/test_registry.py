"""Who reads what, and adapters of a user's own."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.adapters import Adapter, register
from steinball.adapters.samplers import Reading
from steinball.models import registry
from steinball.models.knowledge import Knowledge
from steinball.models.registry import (
    adapters_of,
    is_posterior,
    read_draws,
    read_family,
    read_model,
    read_posterior,
)

pytestmark = pytest.mark.exact


def made(module: str, name: str) -> Any:
    """An instance of a class that another library might have."""
    return type(name, (), {"__module__": module})()


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ADAPTERS", dict(registry._ADAPTERS))


@pytest.mark.parametrize(
    ("module", "name", "adapter", "by_name"),
    [
        ("scipy.stats", "gaussian_kde", "SciPy", False),
        ("sklearn.mixture", "GaussianMixture", "SciKitLearn", False),
        ("pymc.model.core", "Model", "PyMC", True),
        ("bridgestan.model", "StanModel", "Stan", True),
        ("arviz.data.inference_data", "InferenceData", "ArviZ", False),
        ("xarray.core.datatree", "DataTree", "ArviZ", False),
        ("blackjax.mcmc.hmc", "HMCState", "BlackJAX", False),
    ],
)
def test_objects_are_known_by_the_library_of_their_classes(module: str, name: str, adapter: str, by_name: bool) -> None:
    value = made(module, name)
    for thing in (value, type("Derived", (type(value),), {})()):
        assert [type(found).__name__ for found in adapters_of(thing)] == [adapter]
        assert is_posterior(thing) == by_name


def test_what_no_adapter_knows_is_nothing() -> None:
    for thing in (made("mine", "MCMC"), 3.0, [1.0], None, lambda x: x):
        found = (read_model(thing), read_family(thing, 1, {}), read_draws(thing, Reading()), read_posterior(thing))
        assert found == (None,) * 4
        assert not is_posterior(thing)


def test_a_class_is_found_by_its_own_library_before_that_of_the_class_above_it() -> None:
    class First(Adapter):
        def model(self, thing: Any, dimension: int | None) -> str | None:
            return None if thing.silent else "first"

    class Second(Adapter):
        def model(self, thing: Any, dimension: int | None) -> str:
            return "second"

    register("below", Second())
    register("above", First())
    base = type("Base", (), {"__module__": "below.core"})
    derived = type("Derived", (base,), {"__module__": "above.core", "silent": False})()
    assert read_model(derived) == "first"
    derived.silent = True
    assert read_model(derived) == "second"


def test_the_adapter_of_the_run_is_asked_about_a_model_of_no_library() -> None:
    """A function beside draws of a sampler may be a model of that sampler, which only its adapter knows."""

    class Samplers(Adapter):
        def posterior(self, thing: Any, run: Any) -> Any:
            return ("posterior of", thing) if callable(thing) and run is not None else None

    register("samplers", Samplers())
    run = made("samplers.core", "Run")
    found: Any = read_posterior(len, run)
    assert found == ("posterior of", len)
    assert read_posterior(len) is None


def test_a_model_of_pymc_is_no_model_of_data_and_the_error_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"`logp` is symbolic.*mcmc_test\(idata, model\).*compile_logp"):
        sb.as_model(made("pymc.model.core", "Model"), np.zeros((3, 1)))


def test_only_an_instance_of_an_adapter_can_be_registered() -> None:
    with pytest.raises(TypeError, match=r"must be an instance of a class below steinball\.adapters\.Adapter"):
        register("mine", Adapter)  # type: ignore[arg-type]


def test_draws_are_rows_and_nothing_else_is_known() -> None:
    model = sb.from_draws(np.arange(12.0))
    assert model.draws.shape == (12, 1)
    assert model.dimension == 1
    known = Knowledge(model)
    assert known.second_sample is not None
    assert (known.sampler, known.log_density, known.has_score) == (None, None, False)
    assert repr(model) == "from_draws(<12 × 1 numbers>)"


def test_what_is_no_sample_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="`draws`"):
        sb.from_draws([1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="at least 10 rows"):
        sb.region_test([1.0, 2.0], sb.from_draws(np.arange(5.0)), contamination=0.05)
    with pytest.raises(ValueError, match="`model` has 2 columns, but `x` has 1"):
        sb.region_test([1.0, 2.0], sb.from_draws(np.zeros((50, 2))), contamination=0.05)
    with pytest.raises(TypeError):
        sb.ksd_test(np.zeros(5), sb.from_draws(np.arange(50.0)))


def test_an_object_of_another_library_is_one_model_until_its_parameters_change() -> None:
    thing = stats.multivariate_normal([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]])
    first, second = read_model(thing), read_model(thing, 2)
    assert first is second
    thing.mean = np.array([1.0, 3.0])
    third = read_model(thing)
    assert third is not first
    np.testing.assert_array_equal(third.location, [1.0, 3.0])
    assert read_model(stats.multivariate_normal([1.0, 3.0], np.eye(2))) is not third


@pytest.mark.parametrize(
    "thing",
    [stats.multivariate_normal([1.0, 2.0]), stats.multivariate_t([1.0, 2.0], df=4), stats.gamma(3.5), stats.norm(2.25)],
    ids=lambda thing: type(thing).__name__,
)
def test_what_was_read_from_an_object_does_not_keep_it(thing: Any) -> None:
    copies = [copy.copy(thing) for _ in range(20)]
    found = [weakref.ref(one) for one in copies]
    for one in copies:
        read_model(one)
    del one, copies
    gc.collect()
    assert sum(ref() is not None for ref in found) <= 8  # of those on the line the last few models are kept


def test_a_second_check_of_an_object_of_another_library_finds_what_the_first_found_out(monkeypatch: Any) -> None:
    thing, drawn, sample = stats.multivariate_normal([0.0, 0.0]), [], sb.models.Gaussian.sample

    def counting(self: Any, n: int, rng: Any = None) -> Any:
        drawn.append(n)
        return sample(self, n, rng)

    monkeypatch.setattr(sb.models.Gaussian, "sample", counting)
    counts = []
    for seed in range(3):
        sb.check(np.random.default_rng(seed).normal(size=(60, 2)), thing, contamination=0.05, rng=0)
        counts.append(sum(drawn))
    assert counts[0] > 4096
    assert counts[2] - counts[0] < 20  # a few rows show that it is still the same model
