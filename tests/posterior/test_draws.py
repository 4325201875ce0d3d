"""Draws of chains as rows, and what they are tested against."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import steinball as sb
from steinball.adapters.samplers import Reading
from steinball.posterior import ChainDraws, as_named, as_reading, read

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(3, 50, 2))
GAUSSIAN = sb.models.Gaussian([0.0, 0.0])


def test_chains_stand_one_behind_the_other() -> None:
    draws = ChainDraws.of(X, Reading())
    assert draws.lengths == (50, 50, 50)
    np.testing.assert_array_equal(draws.values[50:100], X[1])


def test_draws_before_chains_are_turned_round() -> None:
    np.testing.assert_array_equal(
        ChainDraws.of(X.swapaxes(0, 1), Reading(chain_axis=1)).values, ChainDraws.of(X, Reading()).values
    )


def test_rows_may_say_how_many_chains_they_are() -> None:
    rows = X.reshape(-1, 2)
    assert ChainDraws.of(rows, Reading()).lengths == (150,)
    assert ChainDraws.of(rows, as_reading(None, 3, None)).lengths == (50, 50, 50)
    assert ChainDraws.of(rows, as_reading(None, [100, 50], None)).lengths == (100, 50)
    with pytest.raises(ValueError, match="must divide the number of rows"):
        ChainDraws.of(rows, as_reading(None, 4, None))


@pytest.mark.parametrize(
    ("draws", "shape"), [(X[0], (50, 2)), (X[0, :, 0], (50, 1)), (X.tolist(), (150, 2)), (X.astype("f4"), (150, 2))],
    ids=["one chain", "one parameter", "nested lists", "single precision"],
)  # fmt: skip
def test_arrays_of_every_shape_become_rows_in_double_precision(draws: Any, shape: tuple[int, int]) -> None:
    found = ChainDraws.of(draws, Reading()).values
    assert found.shape == shape
    assert found.dtype == np.float64


@pytest.mark.backend
def test_rows_stay_in_the_library_of_the_draws(xp: Any) -> None:
    found = ChainDraws.of(xp.asarray(X), Reading(chain_axis=0))
    assert type(found.values) is type(xp.asarray(X))
    assert found.lengths == (50, 50, 50)


@pytest.mark.parametrize(
    ("draws", "reading", "message"),
    [
        (X[..., None], {}, r"must have shape \(n, d\), got \(3, 50, 2, 1\)"),
        (X[0], {"chain_axis": 1}, "`chain_axis` is for arrays of three axes"),
        (X, {"chains": 3}, "says itself how many there are"),
        (X, {"parameters": ("a",)}, "`parameters` must name the 2 columns"),
        (np.where(X > 2.0, np.nan, X), {}, "must be finite"),
        (X[:, :0], {}, "at least 2 rows"),
        ([[1.0], [1.0, 2.0]], {}, "rows differ in length"),
        (["a", "b"], {}, "real numbers"),
    ],
    ids=["four axes", "axis", "chains", "names", "missing", "empty", "ragged", "text"],
)
def test_what_cannot_be_read_is_refused_with_the_reason(draws: Any, reading: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ChainDraws.of(draws, Reading(**reading))


def test_a_chain_that_is_stuck_is_refused() -> None:
    frozen, late = X.copy(), X.copy()
    frozen[1] = frozen[1, 0]
    with pytest.raises(ValueError, match=r"1 of 3 chains stand still .*chain 1, 50 of 50 draws are one point"):
        ChainDraws.of(frozen, Reading())
    late[2, 30:] = late[2, 29]
    with pytest.raises(ValueError, match="chain 2, 21 of 50 draws"):
        ChainDraws.of(late, Reading())


def test_a_stay_ends_with_its_chain() -> None:
    """Fifteen draws at the end of one chain and fifteen at the start of the next are one point."""
    near = X.copy()
    near[0, 35:] = near[1, :15] = 0.5
    assert ChainDraws.of(near, Reading()).lengths == (50, 50, 50)


def test_a_sampler_may_reject_proposals() -> None:
    rejecting = np.repeat(np.random.default_rng(0).normal(size=(2, 20, 1)), 10, axis=1)
    assert ChainDraws.of(rejecting, Reading()).lengths == (200, 200)


def test_a_parameter_that_never_changes_is_refused_by_name() -> None:
    still = X.copy()
    still[..., 1] = 0.5
    with pytest.raises(ValueError, match="`draws` of `tau` never change"):
        ChainDraws.of(still, Reading(parameters=("mu", "tau")))


def test_many_chains_of_one_draw_are_draws() -> None:
    assert ChainDraws.of(X.reshape(150, 1, 2), Reading()).lengths == (1,) * 150


def test_named_draws_are_put_side_by_side_in_the_stated_order() -> None:
    named = as_named({"a": X[..., 0], "b": X}, Reading())
    draws = ChainDraws.of_named(named, ("b", "a"))
    assert draws.parameters == ("b[0]", "b[1]", "a")
    np.testing.assert_array_equal(draws.values[:, 2], X[..., 0].ravel())
    assert ChainDraws.of_named({"b": X}, None).parameters == ("b[0]", "b[1]")


def test_the_order_of_several_names_must_be_said() -> None:
    with pytest.raises(ValueError, match="has the variables a, b"):
        ChainDraws.of_named({"a": X[..., 0], "b": X}, None)
    with pytest.raises(ValueError, match="`parameters` has c, but `draws` has only a"):
        ChainDraws.of_named({"a": X[..., 0]}, ("c",))


def test_named_draws_must_agree_about_their_chains() -> None:
    with pytest.raises(ValueError, match="the same chains and draws"):
        as_named({"a": X, "b": X[:, :20]}, Reading())
    with pytest.raises(ValueError, match=r"must have shape \(chain, draw"):
        as_named({"a": X[0, :, 0]}, Reading())
    with pytest.raises(ValueError, match=r"must have shape \(chain, draw"):
        as_named({}, Reading())
    with pytest.raises(ValueError, match="`chains` is for arrays"):
        as_named({"a": X}, Reading(chains=3))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], r"must have shape \(chain, draw, ...\) each, got {'a': \(2,\)}"),
        ([["x"]], r"`draws\['a'\]` must hold real numbers"),
        ([[1.0, 2.0], [1.0]], r"`draws\['a'\]` must be a rectangular array"),
        (None, r"`draws\['a'\]` must hold real numbers"),
    ],
    ids=["one axis", "text", "ragged", "none"],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_named_draw_that_is_no_array_of_chains_is_refused_by_name(value: Any, message: str, axis: int) -> None:
    """One axis was turned round, and text was read as it stood: errors of NumPy, which named nothing."""
    with pytest.raises((TypeError, ValueError), match=message):
        as_named({"a": value}, Reading(chain_axis=axis))


def test_an_axis_that_is_none_is_refused() -> None:
    for axis in (2, True, "chain"):
        with pytest.raises(ValueError, match="`chain_axis` must be 0"):
            as_reading(None, None, axis)
    assert as_reading("mu", None, None).parameters == ("mu",)


# What they are tested against


def made(module: str, name: str) -> Any:
    """An instance of a class that another library might have."""
    return type(name, (), {"__module__": module})()


def test_scores_of_every_shape_follow_the_draws() -> None:
    rows = X.reshape(-1, 2)
    for draws, scores, reading in (
        (X, -X, Reading()),
        (rows, -rows, Reading()),
        (X, -rows, Reading()),
        (X.swapaxes(0, 1), -X.swapaxes(0, 1), Reading(chain_axis=1)),
        ({"x": X}, -X, Reading()),
        ({"x": X.swapaxes(0, 1)}, -X.swapaxes(0, 1), Reading(chain_axis=1)),
        ({"x": X}, (-rows).tolist(), Reading()),
    ):
        found, model = read(draws, None, scores, reading)
        np.testing.assert_array_equal(np.asarray(model.scores), -found.values)


def test_scores_that_can_be_in_two_orders_are_refused() -> None:
    """Flat scores of draws (draw, chain, d) were taken to be chain behind chain: p = .001 for draws of the model."""
    turned = X.swapaxes(0, 1)
    for draws in (turned, {"x": turned}):
        with pytest.raises(
            ValueError, match=r"`scores` of shape \(150, 2\) with `chain_axis=1`.*in the shape of `draws`"
        ):
            read(draws, None, -turned.reshape(-1, 2), Reading(chain_axis=1))
    one, model = read(X[:1].swapaxes(0, 1), None, -X[0], Reading(chain_axis=1))
    np.testing.assert_array_equal(model.scores, -one.values)


def test_scores_of_other_chains_are_refused_by_their_shape() -> None:
    """They were reshaped to the rows of the draws, which NumPy refused in its own words."""
    with pytest.raises(ValueError, match=r"must have the shape of `samples`, \(150, 2\), got \(60, 2\)"):
        sb.mcmc_test(X, scores=-X[:, :20])


@pytest.mark.parametrize(
    ("draws", "model", "scores", "message"),
    [
        (X, GAUSSIAN, -X, "`model` or `scores`, not both"),
        (X, None, None, "`model` or `scores` is needed"),
        (X, made("pymc.model.core", "Model"), None, "knows its parameters by name"),
        (X, made("bridgestan.model", "StanModel"), None, "knows its parameters by name"),
        (made("pymc.model.core", "Model"), X, None, "draws first"),
        ({"mu": X, "tau": X}, GAUSSIAN, None, "has the variables mu, tau"),
    ],
    ids=["both", "neither", "no names", "no names for Stan", "turned round", "order"],
)
def test_what_is_ambiguous_is_refused(draws: Any, model: Any, scores: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        read(draws, model, scores, Reading())


def test_chains_of_draws_that_know_them_are_not_asked_for() -> None:
    with pytest.raises(ValueError, match="a Dataset, which knows its chains"):
        read(made("xarray.core.dataset", "Dataset"), GAUSSIAN, None, Reading(chain_axis=0))


class State(NamedTuple):
    position: Any
    logdensity: Any
    logdensity_grad: Any


State.__module__ = "blackjax.mcmc.hmc"


def test_states_against_another_model_are_tested_against_that() -> None:
    states = State(X[0], np.zeros(50), -X[0])
    assert read(states, GAUSSIAN, None, Reading())[1] is GAUSSIAN
    np.testing.assert_array_equal(read(states, None, None, Reading())[1].scores, -X[0])
