"""The categories of what the library says without stopping."""

from __future__ import annotations


class SteinballWarning(UserWarning):
    """The base class of all warnings of this library: each says its cause and its remedy.

    Examples
    --------
    One line silences them all; a category such as ``sb.cautions.SeparatedModesWarning`` in its place silences that one.

    >>> import warnings, steinball as sb
    >>> with warnings.catch_warnings():
    ...     warnings.filterwarnings("ignore", category=sb.SteinballWarning)
    ...     sb.robust_ksd_test([0.0, 1.0, 2.0], lambda x: -x, 0.05, tau="auto", rng=0).tau_kind
    'sample'
    """


class DependentRowsWarning(SteinballWarning):
    """Rows that stand near each other are more alike than others, and the test takes rows as independent.

    Remedy: shuffle the rows where their order means nothing; otherwise :func:`steinball.thin`, or
    ``WildBootstrap(dependence="auto")``.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.sort(np.random.default_rng(0).normal(size=100))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.DependentRowsWarning)
    ...     sb.ksd_test(x, sb.models.Gaussian(), rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.DependentRowsWarning: ...
    """


class FewRowsWarning(SteinballWarning):
    """There are fewer rows than columns, or so few rows that the level is not kept.

    Remedy: rows are observations: transpose or flatten an array that is not (n, d). Otherwise more observations.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.random.default_rng(0).normal(size=(4, 6))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.FewRowsWarning)
    ...     sb.ksd_test(x, sb.models.Gaussian(mean=np.zeros(6)), rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.FewRowsWarning: ...
    """


class SeparatedModesWarning(SteinballWarning):
    """A model with separated modes is tested by its score alone, which cannot see the weights of the modes.

    Remedy: ``jumps="auto"``, or :func:`steinball.mode_weights_test` for the weights alone.

    Examples
    --------
    >>> import steinball as sb, warnings
    >>> model = sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.SeparatedModesWarning)
    ...     sb.ksd_test(model.sample(100, rng=0), model, rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.SeparatedModesWarning: ...
    """


class SteinIdentityWarning(SteinballWarning):
    """The draws of a model contradict its score: an edge that was not declared, a wrong score, or a wrong support.

    Remedy: ``support=``, another score or sampler; ``check_model=False`` turns the check off.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> model = sb.from_score(lambda x: 0.0 * x - 1.0, sample=lambda n, rng: rng.exponential(size=(n, 1)))
    >>> x = np.random.default_rng(0).exponential(size=100)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.SteinIdentityWarning)
    ...     sb.ksd_test(x, model, rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.SteinIdentityWarning: ...
    """


class RareFeaturesWarning(SteinballWarning):
    """Single draws of a model have a large share of all that the test sees of it.

    Remedy: ``tilt="auto"``, with a declared ``support`` where the model has an edge.

    Examples
    --------
    >>> import steinball as sb, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", sb.cautions.RareFeaturesWarning)
    ...     sb.ksd_test([0.1, -0.3, 0.8, -1.2], sb.models.Gaussian(), rng=0).rejected
    False
    """


class RoundedDataWarning(SteinballWarning):
    """Whole numbers are tested against a density.

    Remedy: ``radius=sb.Wasserstein.rounding(1.0)``, or a test for counts.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.round(np.random.default_rng(0).normal(scale=5.0, size=100))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.RoundedDataWarning)
    ...     sb.ksd_test(x, sb.models.Gaussian(sd=5.0), rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.RoundedDataWarning: ...
    """


class UnboundedSteinKernelWarning(SteinballWarning):
    """A radius or bound that needs sup u(x, x) < ∞ was asked of a Stein kernel that grows without limit.

    Remedy: a tilt of sufficient exponent, or a radius on the scale of the KSD.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.UnboundedSteinKernelWarning)
    ...     sb.ksd_test(x, sb.models.Gaussian(), radius=sb.Huber(0.05), rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.UnboundedSteinKernelWarning: ...
    """


class UncertifiedSupremumWarning(SteinballWarning):
    """An upper bound on sup u(x, x) was asked for, and only the largest value at the samples was to be had.

    Remedy: give the bound (``tau=3.2``), a model with ``score_growth(center)``, or ``tau="sample"``.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.UncertifiedSupremumWarning)
    ...     sb.robust_ksd_test(x, lambda x: -x, contamination=0.05, tau="auto", rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.UncertifiedSupremumWarning: ...
    """


class FittedOnDataWarning(SteinballWarning):
    """A model is tested on the data that it was fitted on, as if it were known.

    Remedy: ``sb.fit_test``, which tests the family; or ``sb.split`` and a test on the other part.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.FittedOnDataWarning)
    ...     sb.ksd_test(x, sb.models.Gaussian(mean=x.mean(), sd=x.std()), rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.FittedOnDataWarning: ...
    """


class LogDensityWarning(SteinballWarning):
    """A function that was given as a score looks like a log density.

    Remedy: ``sb.from_log_density(f, backend=...)``.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.LogDensityWarning)
    ...     sb.ksd_test(x, lambda x: -(x**2) / 2, rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.LogDensityWarning: ...
    """


class WrongScoreWarning(SteinballWarning):
    """The score of a model is not the gradient of its own log density, or the density ends where nobody said.

    Remedy: ``sb.check_score`` names the mistake; an edge is declared by ``support=``.

    Examples
    --------
    >>> import steinball as sb, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", sb.cautions.WrongScoreWarning)
    ...     sb.ksd_test([0.1, -0.3, 0.8, -1.2], sb.models.Gaussian(), rng=0).rejected
    False
    """


class RemovalWarning(SteinballWarning):
    """A tolerated set that allows the removal of mass was given a τ that is no upper bound.

    What was removed is not in the sample, so the sample cannot show how much it weighed. Remedy: ``tau="auto"``.

    Examples
    --------
    >>> import numpy as np, steinball as sb, warnings
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sb.cautions.RemovalWarning)
    ...     sb.ksd_test(x, lambda x: -x, tilt="auto", radius=sb.TotalVariation(0.05), rng=0)
    Traceback (most recent call last):
        ...
    steinball.cautions.RemovalWarning: ...
    """


__all__ = ["SteinballWarning", *(category.__name__ for category in SteinballWarning.__subclasses__())]
