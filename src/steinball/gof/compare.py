"""Which of several models is closer to the data, whatever a share of the rows is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball import comparison
from steinball.arrays import Floats, as_samples, as_seed, check_kind, check_level, is_array_like, naming, to_host
from steinball.cautions import FewRowsWarning, FittedOnDataWarning
from steinball.checks.rows import is_mean_of
from steinball.fitting import Family, as_family
from steinball.gof.fitted import split
from steinball.models.base import source_of_draws
from steinball.models.knowledge import Knowledge
from steinball.record import Record, recorded
from steinball.remarks import Remark, give
from steinball.results.comparison import ComparisonResult, check_contamination

FIT_ROWS = 5_000
"""Half of the rows, and at most so many, are set apart for families to be fitted on."""

MOST_DRAWS = 20_000
"""Of draws that a user gives, so many at most are used."""

_FEW = 30
_PASSES, _RARE = 3, 0.001


@recorded
def compare(
    samples: Any, models: Mapping[str, Any], *, contamination: float = 0.0, level: float = 0.05, rng: Any = None
) -> ComparisonResult:
    r"""Say which of several models is closer to the data, of which a share may be anything

    .. math:: \bar g = \frac1n \sum_i g(x_i) \approx \mathrm{MMD}^2(Q, b) - \mathrm{MMD}^2(Q, a), \qquad
       g(x) = 2(\mu_a(x) - \mu_b(x)) + |\mu_b|^2 - |\mu_a|^2,

    for every pair of models a and b, with μ the mean embedding of a model and an interval for the difference before the
    clean part of the rows. p-values and kernel Stein discrepancies do not rank models; this does.

    Parameters
    ----------
    samples : array or frame
        Rows x (n, d), or (n,) for d = 1, independent, n at least 2.
    models : mapping of names to models
        Two or more. Whatever the tests take and can be drawn from: a :class:`steinball.models.Gaussian` or
        ``GaussianMixture`` (in closed form), distributions of SciPy, torch and NumPyro, flows, an object with
        ``sample(n, rng)``, ``sb.from_draws(array)``. The name of a family, such as ``"normal"`` or ``"gamma"``, is
        fitted to the bulk of half of the rows (5,000 at most); all models are compared on the others.
    contamination : float
        The tolerated share ε < 1 of rows that may be anything.
    level : float
        α, over all pairs together (Holm).
    rng : None, int, SeedSequence or Generator
        Source of the draws. Draws depend on the name of a model, not on its place among the others.

    Returns
    -------
    ComparisonResult

    Notes
    -----
    Proved (``docs/theory/comparison.md``): the interval, up to a normal approximation of a mean of n bounded values and
    m = min(20 n, 20,000) draws, whose error is in it; and that over all pairs no model is called closer that is not,
    with probability 1 − α. Only simulated: how good the approximation is, and power. Draws that are given must be
    independent.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> x[:25] = 8.0
    >>> models = {"narrow": sb.models.Gaussian(0.0, sd=1.0), "wide": sb.models.Gaussian(0.0, sd=2.0)}
    >>> sb.compare(x, models, contamination=0.05, rng=0).closest
    'narrow'
    """
    rows, named = to_host(as_samples(samples)), _check_names(models)
    share, level, seed = check_contamination(contamination), check_level(level), as_seed(rng)
    families = {name: model for name, model in named.items() if isinstance(model, (str, Family))}
    apart, rows = _set_apart(rows, seed) if families else (rows[:0], rows)
    fits = {name: _fitted(name, family, apart) for name, family in families.items()}
    known = {name: fits[name][0] if name in fits else model for name, model in named.items()}
    sources = {name: _Source.of(name, model, rows, len(known), seed) for name, model in sorted(known.items())}
    at = comparison.KernelCoordinates.from_draws([source.draws for source in sources.values()])
    embeddings = {name: sources[name].embedding(at) for name in named}
    pairs = comparison.compare_embeddings(rows, embeddings, share, level)
    draws = {name: 0 if sources[name].parts is not None else len(sources[name].draws) for name in named}
    about: dict[str, Any] = {"n": len(rows), "dimension": rows.shape[1], "draws": draws, "fitted_on": len(apart)}
    about |= {"fitted": {name: params for name, (_, params) in fits.items()}, "names": tuple(named), "_rows": rows}
    record = Record().warned(give(_remarks(rows, sources)))
    return ComparisonResult(pairs=tuple(pairs), contamination=share, level=level, _record=record, **about)


def _check_names(models: Any) -> dict[str, Any]:
    given = dict(check_kind(models, Mapping, "models", "a mapping of names to models, such as {'a': model}"))
    for name in (name for name in given if not isinstance(name, str) or not name.strip() or not name.isprintable()):
        raise TypeError(f"`models` must have names that are texts of one line, got {name!r}.")
    if len(given) < 2:
        raise ValueError(f"`models` must hold at least two models to compare, got {len(given)}.")
    return given


def _set_apart(rows: Floats, seed: np.random.SeedSequence) -> tuple[Floats, Floats]:
    """Rows to fit families on, and rows to compare on, by random."""
    n, size = len(rows), min(len(rows) // 2, FIT_ROWS)
    if n < 4:
        raise ValueError(f"`samples` must have at least 4 rows where `models` has families to be fitted, got {n}.")
    return split(rows, size / n, rng=np.random.default_rng(seed))


def _fitted(name: str, chosen: Any, rows: Floats) -> tuple[Any, dict[str, float]]:
    """The member of a family by the likelihood of the rows that a fit before it can explain, and its parameters.

    A row counts where its log density is one that a draw of the fit falls below once in a thousand; the first fit is
    the family's robust start. So a far row has no influence, and hardly a row of the model is left out.
    """
    with naming(f"`models[{name!r}]`"):
        family = check_kind(as_family(chosen, rows.shape[1]), Family, "family", "one whose members are known")
        rows = rows if family.support is None else family.support.rows_inside(rows)
        params = family.start(rows)
        for _ in range(_PASSES):
            known = Knowledge(family.model(params))
            assert known.log_density is not None
            least = np.quantile(to_host(known.log_density(known.needed_draws(MOST_DRAWS))), _RARE)
            params = family.fit(rows[to_host(known.log_density(rows)) >= least])
    return family.model(params), dict(zip(family.names, params.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class _Source:
    """One of the models: draws (m, d), its parts where it is a mixture of normal ones, and its center if known."""

    draws: Floats
    parts: tuple[Floats, Floats, Floats] | None
    center: Floats | None

    @classmethod
    def of(cls, name: str, model: Any, rows: Floats, models: int, seed: np.random.SeedSequence) -> _Source:
        """A model to be compared, as the user passed it under ``name``, which decides the seed of its draws."""
        if is_array_like(model):
            raise TypeError(
                f"`models[{name!r}]` is an array. Draws of a model come in by `sb.from_draws(array)`; scores cannot be "
                "compared."
            )
        with naming(f"`models[{name!r}]`"):
            known = Knowledge(source_of_draws(model, rows.shape[1]))
            rng = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=tuple(name.encode())))
            pooled = comparison.POOLED // models
            needed = comparison.number_of_draws(len(rows)) if known.normal_parts is None else pooled
            draws = _draws_of(known, max(2, needed), rng)
            if draws.shape[1] != rows.shape[1]:
                raise ValueError(f"the model has {draws.shape[1]} columns, but `samples` has {rows.shape[1]}.")
        return cls(draws, known.normal_parts, known.location)

    def embedding(self, at: comparison.KernelCoordinates) -> comparison.Embedding:
        """μ, in closed form where there is one."""
        if self.parts is None:
            return comparison.DrawnEmbedding(at, self.draws)
        weights, means, covariances = self.parts
        return comparison.MixtureEmbedding(at, means, covariances, weights)


def _draws_of(known: Knowledge, m: int, rng: np.random.Generator) -> Floats:
    """m draws, or those that the model consists of."""
    given = known.second_sample
    if given is not None:
        return given if len(given) <= MOST_DRAWS else given[np.sort(rng.choice(len(given), MOST_DRAWS, replace=False))]
    if known.sampler is None:
        raise TypeError(
            f"a {type(known.model).__name__} cannot be drawn from, and models are compared by draws. Give it "
            "`sample(n, rng)`, for a score by `sb.from_score(f, sample=...)`; or pass draws, `sb.from_draws(array)`."
        )
    return known.needed_draws(m, rng)


def _remarks(rows: Floats, sources: Mapping[str, _Source]) -> Iterator[Remark]:
    if len(rows) < _FEW:
        yield Remark(
            FewRowsWarning,
            f"the interval of a comparison takes the mean over {len(rows)} rows for normal.",
            f"Use at least {_FEW} rows.",
        )
    for name in (name for name, source in sources.items() if is_mean_of(source.center, rows)):
        yield Remark(
            FittedOnDataWarning,
            f"`models[{name!r}]` has its center at the mean of these very samples, so that it was fitted on them. A "
            "model looks closer to the rows that it was fitted on than it is.",
            'Fit it on other rows (`sb.split`), or pass the name of its family, such as "normal".',
        )
