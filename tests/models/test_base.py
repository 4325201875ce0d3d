"""What users may pass as a model, and what they are told about everything else."""

from __future__ import annotations

import inspect
from typing import Any

import array_api_compat
import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models import Gaussian, Model, from_log_density, from_score, in_base_space
from steinball.models.base import (
    ScoreFunction,
    as_model,
    evaluate_score,
    from_scores,
    model_at,
    source_of_draws,
)
from steinball.models.knowledge import Knowledge
from steinball.models.registry import ScoreArray
from steinball.models.support import Support

X = np.random.default_rng(0).normal(size=(6, 2))


class Scored:
    """The smallest model."""

    def score(self, x: Any) -> Any:
        return -x


class Distribution:
    """An object of another library: one method, no score."""

    def __init__(self, method: str) -> None:
        setattr(self, method, lambda x: -0.5 * (x**2).sum(axis=1))


@pytest.mark.exact
def test_an_object_with_a_score_is_used_as_it_is() -> None:
    model = Scored()
    assert isinstance(model, Model)
    assert as_model(model, X) is model


@pytest.mark.exact
@pytest.mark.parametrize(
    "model", [Gaussian(np.zeros(2), np.eye(2)), from_log_density(lambda x: x, backend="numerical")]
)
def test_our_own_models_obey_the_protocol(model: Any) -> None:
    assert isinstance(model, Model)
    assert as_model(model, X) is model


@pytest.mark.exact
def test_an_object_without_a_score_is_no_model() -> None:
    assert not isinstance(Distribution("logpdf"), Model)


@pytest.mark.exact
def test_a_function_is_a_score_everywhere() -> None:
    model = as_model(lambda x: -3.0 * x, X)
    assert isinstance(model, ScoreFunction)
    np.testing.assert_array_equal(model.score(2.0 * X), -6.0 * X)


@pytest.mark.backend
def test_an_array_of_any_library_is_the_score_at_the_samples(xp: Any) -> None:
    x = xp.asarray(X)
    model = as_model(from_scores(-2.0 * x), x)
    assert isinstance(model, ScoreArray)
    scores = model.score(x + 0.0)  # an equal array, not the same one
    assert array_api_compat.array_namespace(scores) is array_api_compat.array_namespace(x)
    assert bool(xp.all(scores == -2.0 * x))
    with pytest.raises(ValueError, match="an array of scores, and scores are known only at the samples"):
        model.score(x + 1e-9)


@pytest.mark.exact
@pytest.mark.parametrize(
    "elsewhere",
    [X[:3], X[::-1], X.astype(np.float32), X[:, :1], X.tolist()],
    ids=["fewer", "reordered", "float32", "one column", "a list"],
)
def test_a_score_array_is_silent_about_all_other_points(elsewhere: Any) -> None:
    with pytest.raises(ValueError, match="pass a score function"):
        as_model(from_scores(-X), X).score(elsewhere)


@pytest.mark.exact
def test_lists_frames_and_flat_arrays_are_score_arrays() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    # A column called "score" must not turn a frame into a model.
    for scores in (
        (-X).tolist(),
        tuple(map(tuple, -X)),
        pandas.DataFrame(-X, columns=["score", "b"]),
        polars.DataFrame(-X, schema=["score", "b"]),
    ):
        np.testing.assert_array_equal(as_model(from_scores(scores), X).score(X), -X)
    column = X[:, :1]
    np.testing.assert_array_equal(as_model(from_scores(-X[:, 0]), column).score(column), -column)


@pytest.mark.exact
def test_samples_are_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were on the way in; the model is checked against them, and they are kept as they are."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("samples were checked again")

    monkeypatch.setattr("steinball.arrays.as_samples", refuse)
    model = model_at(from_scores(-X), X)
    assert isinstance(model, ScoreArray)
    assert model.samples is X


@pytest.mark.exact
def test_a_user_s_own_samples_are_checked() -> None:
    assert as_model(from_scores([-1.0, 2.0]), [1.0, -2.0]).samples.shape == (2, 1)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="`samples` must be finite"):
        as_model(from_scores(-X), np.full_like(X, np.nan))


@pytest.mark.exact
def test_the_repr_of_a_score_array_is_its_shape() -> None:
    assert repr(as_model(from_scores(-X), X)) == "ScoreArray(shape=(6, 2))"


@pytest.mark.exact
@pytest.mark.parametrize("model", [None, "gaussian", 1.5, np.float64(1.5), True, {"mean": 0}, object()])
def test_what_is_no_model_at_all_is_told_what_is_accepted(model: Any) -> None:
    with pytest.raises(
        TypeError, match=r"`model` must be a function that returns scores.*sb\.from_log_density\(f, backend="
    ):
        as_model(model, X)


@pytest.mark.exact
def test_an_array_of_scores_needs_its_samples() -> None:
    with pytest.raises(TypeError, match="an array of scores, which says nothing without its `samples`"):
        as_model(from_scores(-X))


@pytest.mark.exact
def test_a_class_is_told_to_become_an_instance() -> None:
    with pytest.raises(TypeError, match=r"must be an instance, got the class Scored; make one: `Scored\(...\)`"):
        as_model(Scored, X)


@pytest.mark.exact
@pytest.mark.parametrize("method", ["log_density", "log_prob", "logp", "score_samples"])
def test_a_log_density_under_another_name_is_recognized(method: str) -> None:
    with pytest.raises(TypeError, match=rf"log density and not a score.*from_log_density\(model\.{method}, "):
        as_model(Distribution(method), X)


@pytest.mark.exact
def test_a_plain_density_is_told_to_take_its_logarithm() -> None:
    with pytest.raises(TypeError, match=r"a density and not a score.*lambda x: np\.log\(model\.pdf\(x\)\)"):
        as_model(Distribution("pdf"), X)


@pytest.mark.exact
def test_the_score_of_scikit_learn_is_not_a_score() -> None:
    class KernelDensity(Scored):
        def score_samples(self, x: Any) -> Any:
            return -0.5 * (x**2).sum(axis=1)

    with pytest.raises(TypeError, match=r"from_log_density\(model\.score_samples"):
        as_model(KernelDensity(), X)


@pytest.mark.exact
def test_a_log_density_passed_as_a_function_is_recognized_by_its_name() -> None:
    """In one dimension the shape does not tell: (n, 1) in, (n, 1) out."""
    with pytest.raises(TypeError, match=r'from_log_density\(logpdf, backend="numerical"\)'):
        as_model(stats.norm().logpdf, X[:, :1])


@pytest.mark.exact
def test_a_model_of_another_dimension_is_refused_before_it_is_evaluated() -> None:
    with pytest.raises(ValueError, match="`model` has dimension 3 but `samples` has 2 columns"):
        as_model(Gaussian(np.zeros(3), np.eye(3)), X)


@pytest.mark.exact
def test_a_score_array_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`scores` must have the shape of `samples`, \(6, 2\), got \(2, 6\)"):
        as_model(from_scores(-X.T), X)


@pytest.mark.backend
def test_evaluated_scores_have_the_library_and_shape_of_the_points(xp: Any) -> None:
    x = xp.asarray(X)
    scores = evaluate_score(ScoreFunction(lambda x: -x), x)
    assert bool(xp.all(scores == -x))
    column = evaluate_score(ScoreFunction(lambda x: -x[:, 0]), x[:, :1])
    assert tuple(column.shape) == (6, 1)


@pytest.mark.exact
def test_a_function_that_returns_one_number_per_row_looks_like_a_log_density() -> None:
    with pytest.raises(ValueError, match=r"looks like a log density.*from_log_density"):
        evaluate_score(ScoreFunction(lambda x: -0.5 * (x**2).sum(axis=1)), X)


@pytest.mark.exact
def test_non_finite_scores_are_counted_and_the_first_is_named() -> None:
    def score(x: Any) -> Any:
        return np.where(np.arange(6)[:, None] >= 4, np.nan, -x)

    with pytest.raises(ValueError, match=r"`model\.score\(samples\)` must be finite, but 2 of 6 rows .*first: row 4"):
        evaluate_score(ScoreFunction(score), X)


@pytest.mark.backend
def test_scores_of_another_library_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"`samples` is a torch array but .* is a numpy array"):
        evaluate_score(ScoreFunction(lambda x: -x.numpy()), torch.tensor(X))


@pytest.mark.exact
def test_precision_is_widened_but_never_narrowed() -> None:
    wide = evaluate_score(ScoreFunction(lambda x: -x.astype(np.float32)), X)
    assert wide.dtype == np.float64
    narrow = X.astype(np.float32)
    assert evaluate_score(ScoreFunction(lambda x: -x), narrow).dtype == np.float32
    with pytest.raises(TypeError, match=r"`samples` is float32 but .* is float64"):
        evaluate_score(ScoreFunction(lambda x: -x.astype(np.float64)), narrow)


@pytest.mark.backend
def test_the_graph_of_a_torch_network_is_dropped() -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Linear(2, 2, dtype=torch.float64)
    x = torch.tensor(X)
    assert network(x).requires_grad
    assert not evaluate_score(as_model(network, x), x).requires_grad
    assert not as_model(from_scores(network(x)), x).score(x).requires_grad


# Supports, and what has no score


def test_from_score_carries_what_is_known_and_checks_it() -> None:
    model = from_score(lambda x: -x, (0, None), sample=lambda n, rng: rng.normal(size=(n, 1)), growth=1)
    known = Knowledge(model)
    assert known.support == Support.of((0, None))
    assert known.growth == 1.0
    assert known.draws(5) is not None
    for given, message in (
        ({"sample": 3}, "`sample` must be a function or None"),
        ({"log_density": 3}, "`log_density` must be a function or None"),
        ({"growth": "fast"}, "`growth` must be a number"),
    ):
        with pytest.raises(TypeError, match=message):
            from_score(lambda x: -x, **given)
    with pytest.raises(TypeError, match="`score` must be a function"):
        from_score(3.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a score"):
        from_score(stats.norm().logpdf)


def test_a_discrete_model_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"a discrete distribution, which has no score.*test for counts.*rounding"):
        as_model(stats.poisson(3.0), X)


def test_an_angle_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"vonmises of an angle.*no density in the plane.*support=\(-np\.pi, np\.pi\)"):
        as_model(stats.vonmises(2.0), X)


def test_a_point_of_no_density_is_laid_to_the_model() -> None:
    with pytest.raises(
        ValueError, match=r"the data are finite there: the model gives these points no density.*support="
    ):
        evaluate_score(ScoreFunction(lambda x: 1.0 / np.where(x > 0, x, np.nan)), np.array([[1.0], [-1.0]]))


def test_a_method_is_differentiated_by_the_library_of_its_object() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r'from_log_density\(log_prob, backend="torch"\)'):
        as_model(torch.distributions.Normal(0.0, 1.0).log_prob, X[:, :1])


def test_a_source_of_draws_needs_no_score() -> None:
    class Sampler:
        def sample(self, n: int, rng: np.random.Generator) -> Any:
            return rng.normal(size=(n, 1))

    sampler = Sampler()
    assert source_of_draws(sampler) is sampler
    assert repr(source_of_draws(stats.norm(1.0, 2.0))) == "Gaussian(mean=1, cov=4)"
    gamma = stats.gamma(2.0)
    assert "gamma" in repr(source_of_draws(in_base_space(gamma)))
    with pytest.raises(TypeError, match="must be"):
        source_of_draws(3.0)


def network(x: Any) -> Any:
    """A score in single precision, as a network of torch has it."""
    if x.dtype != np.float32:
        raise RuntimeError("mat1 and mat2 must have the same dtype, but got Double and Float")
    return -x


def test_a_model_of_single_precision_gets_it() -> None:
    scores = evaluate_score(ScoreFunction(network), X)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, -X, rtol=1e-6)


@pytest.mark.parametrize("error", [ConnectionError, RuntimeError])
def test_an_error_that_is_not_about_dtypes_is_not_answered_by_a_cast(error: type[Exception]) -> None:
    calls = []

    def flaky(x: Any) -> Any:
        calls.append(x.dtype)
        if len(calls) == 1:
            raise error("the server is away")
        return -x

    with pytest.raises(error, match="the server is away"):
        evaluate_score(ScoreFunction(flaky), X)
    assert calls == [np.float64]

    def wrong(x: Any) -> Any:
        raise ValueError("shapes (3,2) and (3,) not aligned")

    with pytest.raises(ValueError, match="not aligned"):
        evaluate_score(ScoreFunction(wrong), X)


def test_a_cast_that_would_move_the_points_is_refused() -> None:
    times = 1.7e9 + 3600.0 * np.random.default_rng(0).normal(size=(50, 1))
    with pytest.raises(ValueError, match=r"single precision only, and rounding to it moves `samples` by up to 0\.0"):
        evaluate_score(ScoreFunction(network), times)
    with pytest.raises(ValueError, match="single precision only"):
        sb.ksd_test(times, network, rng=0)
    assert evaluate_score(ScoreFunction(network), times - 1.7e9).shape == (50, 1)
    exact = np.float32(times).astype(np.float64)
    assert evaluate_score(ScoreFunction(network), exact).shape == (50, 1), "what is single precision loses nothing"


@pytest.mark.exact
@pytest.mark.parametrize("array", [-X, (-X).tolist(), X[:3]])
def test_a_bare_array_is_no_model_and_the_error_says_what_to_write(array: Any) -> None:
    words = r"sb.from_scores\(array\)`.*sb.region_test\(x, sb.from_draws\(array\)\).*sb.predictive_test"
    for call in (lambda: as_model(array, X), lambda: sb.ksd_test(X, array), lambda: sb.ksdagg_test(X, array)):
        with pytest.raises(TypeError, match=words):
            call()


@pytest.mark.exact
def test_functions_and_arrays_of_scores_are_sent_to_each_other() -> None:
    with pytest.raises(TypeError, match=r"Use `sb.from_score\(function\)`"):
        from_scores(lambda x: -x)
    with pytest.raises(TypeError, match=r"sb.from_scores\(array\)"):
        from_score(-X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one row per sample, got 3"):
        from_scores(3.0)
    assert "from_scores" in (from_score.__doc__ or "")
    assert "from_score`" in (from_scores.__doc__ or "")


@pytest.mark.exact
def test_a_function_that_does_not_tell_what_it_takes_is_taken_at_its_word() -> None:
    with pytest.raises(ValueError, match="no signature"):
        inspect.signature(max)  # as of many functions written in C
    assert as_model(max).score is not None
