"""The kernel Stein discrepancy tests of the paper: standard, tilted, robust, finite-sample."""

from __future__ import annotations

from typing import Any

from steinball.calibration import BoundaryBootstrap, Calibration, WeightedBootstrap
from steinball.calibration.combination import as_calibration
from steinball.gof.assess import Specification, assess
from steinball.gram.choose import Settings
from steinball.jumps import Jumps
from steinball.kernels.base import Kernel
from steinball.radius import Huber, Radius
from steinball.record import recorded
from steinball.results.gof import GofResult
from steinball.tau import Ball, Box
from steinball.tilts import Tilt


@recorded
def ksd_test(
    x: Any,
    model: Any,
    *,
    kernel: Kernel | None = None,
    tilt: Tilt | str | None = None,
    radius: float | Radius = 0.0,
    tau: str | float | Ball | Box = "sample",
    calibration: Calibration = WeightedBootstrap(999),  # noqa: B008 - frozen, and the default is part of the contract
    estimator: str = "v",
    level: float = 0.05,
    rng: Any = None,
    jumps: Jumps | str | None = None,
    outside: str = "error",
    standardize: bool = True,
    check_model: bool = True,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> GofResult:
    r"""Test whether a sample comes from within a KSD ball around a model (paper, Algorithm 1).

    .. math:: H_0: D(Q, P) \le \theta, \qquad \text{reject when } \Delta_\theta = \max(0, D - \theta) > q_{1-\alpha},

    where D is the kernel Stein discrepancy of the sample and q the bootstrap quantile. With ``radius=0`` and no tilt it
    is the standard KSD test; with a tilt the paper's tilted test; with both the robust test.

    Parameters
    ----------
    x : array
        Observations, shape (n, d), or (n,) for d = 1. NumPy, torch, JAX, CuPy, or a pandas or polars frame. The rows
        must be independent; where they look otherwise, a ``DependentRowsWarning`` says so (``docs/chains.md``).
    model : Model, callable or an object of another library
        A model with a ``score`` method, a function ``score(x) -> (n, d)``, or the scores at ``x``,
        :func:`steinball.from_scores`; a distribution of SciPy, torch or NumPyro, a flow, a mixture or kernel density of
        scikit-learn. A log density comes in through :func:`steinball.from_log_density`.
    kernel : Kernel, optional
        Base kernel; by default the inverse multiquadric, in standardized coordinates at the median distance of
        N(0, I), otherwise at that of the data.
    tilt : Tilt, "auto" or None
        The weight that bounds the Stein kernel. ``"auto"`` centers and scales it by the model or robustly by the data.
    radius : float or Radius
        θ on the scale of D: a number, or one of :mod:`steinball.radius`.
    tau : "sample", "best", "auto", "optimized", float, Ball or Box
        The supremum of u(x, x) that radii are scaled by: the largest at the observations (the paper's choice; a lower
        bound), the default of :func:`robust_ksd_test`, the best upper bound that can be proved (closed form,
        certificate of the model, interval search), a multistart maximization, a bound that you know, or the maximum
        over a region. Sets that allow the removal of mass, such as :class:`TotalVariation`, need an upper bound.
    calibration : Calibration
        :class:`WeightedBootstrap` (the paper's), :class:`BoundaryBootstrap` (more power at the same level),
        :class:`WildBootstrap`, or for finite samples :class:`MonteCarlo`, :class:`Betting` and :class:`DeviationBound`.
    estimator : {"v", "u"}
        V-statistic or U-statistic (paper App. C).
    level : float
        Level α of the test.
    rng : None, int, SeedSequence or Generator
        Source of randomness (SPEC 7). The same seed gives the same answer on every engine, array library and device.
    jumps : Jumps, "auto" or None
        Moves of the data that the model does not notice, made before testing, so that wrong weights of separated modes
        become visible (:mod:`steinball.jumps`); ``"auto"`` jumps between the model's own modes. The tolerated set must
        survive them: Huber, total variation, Hellinger, Kullback–Leibler, χ² or a density band.
    outside : {"error", "contaminated"}
        What to do with points outside the ``support`` of the model: refuse them, or count them as contaminated, which
        needs a tolerated share of contamination.
    standardize : bool
        Whether rows and model are tested in standardized coordinates, in which neither the units of the columns nor
        their correlations matter: by the model's covariance, or by its draws, or else by the robust scatter of the
        data. The length scale is then that of a normal distribution, fixed in advance. A ``kernel``, a ``tilt``, a
        number for ``tau`` or a ``radius`` in the coordinates of the data is taken there. ``False`` gives the paper's
        test, with the median distance of the data as length scale.
    check_model : bool
        Whether a model that can be sampled is checked against itself, once: its own draws must agree with its score.
        A warning says where they do not. The check has a seed of its own, and is skipped for slow samplers.
    engine : {"auto", "dense", "blocked", "lowrank"}
        How the pairs of points are worked through; ``"auto"`` chooses by n, d and memory. The first two are exact and
        agree to rounding. The last is for large n and small d; the result's ``grade`` says whether its decision is
        certain.
    memory_limit : int or str, optional
        Bytes, or a text such as ``"2 GB"``; half of what is free by default.
    n_jobs : int, optional
        Threads for NumPy arrays (-1: all cores). By default the backend and workers that ``joblib.parallel_config``
        names, which may be a cluster; without one, all cores.
    progress : bool or "auto"
        ``"auto"`` shows a bar on stderr when that is a terminal and the work takes more than two seconds.

    Returns
    -------
    GofResult

    Notes
    -----
    Guaranteed (paper, Theorem 4): for a kernel and tilt fixed in advance and independent rows, the level holds as
    n → ∞ for each distribution in the ball. The defaults are fixed in advance where the model knows its covariance or
    can be drawn from. Not guaranteed: uniformity over the ball at a fixed n, and coordinates, kernel or tilt from the
    same data; simulations in the paper and here show no loss from it.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> x = np.random.default_rng(1).normal(loc=0.4, size=300)
    >>> sb.ksd_test(x, lambda x: -x, rng=0).rejected
    True
    """
    work = Settings(engine, memory_limit, n_jobs, progress)
    asked = Specification(
        radius, calibration, level, rng, work, kernel, tilt, tau, estimator, jumps, outside, check_model, standardize
    )
    evidence, remarks = assess(x, model, asked)
    return GofResult.of(evidence, asked.radius, level, remarks)


@recorded
def robust_ksd_test(
    x: Any,
    model: Any,
    contamination: float,
    *,
    kernel: Kernel | None = None,
    tilt: Tilt | str | None = "auto",
    tau: str | float | Ball | Box | None = None,
    calibration: Calibration | None = None,
    estimator: str = "v",
    level: float = 0.05,
    rng: Any = None,
    jumps: Jumps | str | None = None,
    outside: str = "error",
    standardize: bool = True,
    check_model: bool = True,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> GofResult:
    r"""Test whether a sample comes from a model up to a share of contamination.

    .. math:: H_0: Q = (1 - \varepsilon') P + \varepsilon' R, \quad \varepsilon' \le \varepsilon, \quad R \text{ any}.

    The robust KSD test (paper, Algorithm 1) with the radius :math:`\theta = \varepsilon \sqrt{\tau}` that contains all
    of those distributions, and the paper's bootstrap draws read by the boundary bootstrap.

    Parameters
    ----------
    x : array
        Observations, shape (n, d), or (n,) for d = 1: NumPy, torch, JAX, CuPy, or a pandas or polars frame. The rows
        must be independent.
    model : Model, callable or an object of another library
        A model with a ``score`` method, a function ``score(x) -> (n, d)``, a distribution of SciPy, torch or NumPyro, a
        flow, a mixture of scikit-learn, or whatever else :func:`as_model` reads.
    contamination : float
        The tolerated share ε, in [0, 1]. It has no default: how much may be tolerated is part of the question. For
        another tolerated set use ``ksd_test(..., radius=...)``.
    kernel : Kernel, optional
        Base kernel; by default the inverse multiquadric, in standardized coordinates at the median distance of
        N(0, I), otherwise at that of the data.
    tilt : Tilt, "auto" or None
        By default centered and scaled by the model where it knows its location and covariance or can be sampled,
        otherwise by the median and the median absolute deviation of the data. The paper's experiments use
        ``PolynomialTilt()``: center 0, scale 1.
    tau : optional
        By default ``"best"``: a proven upper bound where that is exact or at most 25 % above a value that is attained;
        otherwise the largest u(x, x) of the sample, of draws of the model and of a search, which the summary then
        calls by that name. The maximum over the sample, ``"sample"``, is the paper's choice: a steep place that the
        sample misses then costs the level. ``"auto"``, a proven upper bound, for those calibrations that need one
        (:class:`MonteCarlo`, :class:`Betting`, :class:`DeviationBound`). With ``jumps`` it stays ``"sample"``: between
        separated modes u(x, x) is so large that wrong weights would pass at any other τ.
    calibration : Calibration, optional
        By default ``BoundaryBootstrap(999, scheme="scaled")``: the draws of the paper's ``WeightedBootstrap(999)``,
        scaled to Σv² = n. In simulations at the exact edge of the ball the boundary bootstrap rejects about as often as
        the level says, the paper's test far more rarely (``docs/evidence/edge.md``, with the paper's weights); scaling
        keeps it near the level in 10 to 100 dimensions (``docs/evidence/dimensions.md``). For U-statistics
        ``WeightedBootstrap(999)``. :class:`MonteCarlo` is exact at every n, for models that can be sampled.
    estimator : {"v", "u"}
        V-statistic or U-statistic (paper App. C).
    level : float
        Level α of the test.
    rng : None, int, SeedSequence or Generator
        Source of randomness (SPEC 7). The same seed gives the same answer on every engine, array library and device.
    jumps : Jumps, "auto" or None
        Moves of the data that the model does not notice, made before testing, so that wrong weights of separated modes
        become visible (:mod:`steinball.jumps`); ``"auto"`` jumps between the model's own modes.
    outside : {"error", "contaminated"}
        What to do with points outside the ``support`` of the model: refuse them, or count them as contaminated.
    standardize : bool
        Whether rows and model are tested in coordinates in which neither the units of the columns nor their
        correlations matter. ``False`` gives the paper's test, with the median distance of the data as length scale.
    check_model : bool
        Whether a model that can be sampled is checked against itself, once: its own draws must agree with its score.
    engine : {"auto", "dense", "blocked", "lowrank"}
        How the pairs of points are worked through; ``"auto"`` chooses by n, d and memory. ``"lowrank"`` is for large n
        and small d, and the result's ``grade`` says whether its decision is certain; the others are exact.
    memory_limit : int or str, optional
        Bytes, or a text such as ``"2 GB"``; half of what is free by default.
    n_jobs : int, optional
        Threads for NumPy arrays (-1: all cores); by default what ``joblib.parallel_config`` names, else all cores.
    progress : bool or "auto"
        ``"auto"`` shows a bar on stderr when that is a terminal and the work takes more than two seconds.

    Returns
    -------
    GofResult

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> x[::25] = 10.0  # 4 % of outliers
    >>> sb.ksd_test(x, sb.models.Gaussian(), rng=rng).rejected
    True
    >>> sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=rng).rejected
    False
    """
    if calibration is None:
        calibration = WeightedBootstrap(999) if estimator == "u" else BoundaryBootstrap(999, "scaled")
    if tau is None:
        chosen = as_calibration(calibration)
        tau = "sample" if jumps is not None and not chosen.needs_upper_bound else chosen.default_tau
    radius, work = Huber(contamination), Settings(engine, memory_limit, n_jobs, progress)
    asked = Specification(
        radius, calibration, level, rng, work, kernel, tilt, tau, estimator, jumps, outside, check_model, standardize
    )
    evidence, remarks = assess(x, model, asked)
    return GofResult.of(evidence, asked.radius, level, remarks)
