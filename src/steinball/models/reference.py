"""Draws of a model that every check, certificate, tilt and explanation shares, kept as long as the model lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base import score_of
from steinball.models.kept import kept_with
from steinball.models.knowledge import Knowledge

#: Rows of the reference; fewer of more than 4,096 columns.
SIZE = 4096
_LEAST, _NUMBERS = 256, 2**24

_PROBED = 3  # places of a model that show its state
_FAR = np.array([[1.0], [3.0], [9.0]])  # how far out these are, where there are no draws
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Reference:
    """Draws of a model by a seed of our own, the same every time, and the scores there.

    Attributes
    ----------
    draws : (4096, d) array
        On the host; fewer rows of more than 4,096 columns.
    scores : (4096, d) array or None
        ``None`` where the score is not finite at some draw.
    """

    draws: Floats
    scores: Floats | None

    @classmethod
    def of(cls, model: Any, template: Array | None = None) -> Reference | None:
        """The reference of a model, made once; ``None`` for a model without a sampler, or one whose sampler fails.

        A model that has been changed since then, as a network in training is, shows other scores and gets another
        reference. ``template`` is an array of the library in which the model is evaluated.
        """
        found = _found(model, template)
        return found if isinstance(found, Reference) else None

    @classmethod
    def at(cls, model: Any, places: Floats, template: Array | None) -> Reference:
        """The scores of a model at places (m, d)."""
        try:
            return cls(places, _finite_scores(model, places, template))
        except Exception:  # a user's score may raise anything, also at draws of its own model
            return cls(places, None)


def known_of(model: Any, key: Any, make: Callable[[], T], template: Array | None = None) -> T:
    """What ``make`` finds out about a model in its present state and about nothing else, found out once.

    A model whose scores at its reference have changed is in another state. A model that shows no state is asked every
    time. What is kept must not refer to the model, which would live as long as what is kept.
    """
    state = _state(model, template)
    try:
        hash(key)
    except TypeError:  # a kernel with a matrix, for instance
        return make()
    kept = (type(model).__name__, state, key)
    return make() if state is None else kept_with(Knowledge(model).original, kept, make)


def _state(model: Any, template: Array | None) -> Any:
    """What differs where the model has changed; ``None`` for one that shows neither draws nor a place of its own.

    That of a moved model is that of the model before: where the rows say how it is moved, it shows none.
    """
    known = Knowledge(model)
    if known.moved_reference is not None and known.move is not None:
        return _state(known.move.model, template)
    if known.unchanging:
        return "always"
    reference = Reference.of(model, template)
    if reference is not None:
        return id(reference)
    place = known.place if known.evaluable else None
    if place is None:
        return None
    probes = _probes(model, place, template)
    return None if probes.scores is None else (id(probes), *(numbers.tobytes() for numbers in place))


def _probes(model: Any, place: tuple[Floats, Floats], template: Array | None) -> Reference:
    """A few places, near and far, around where a model says that it lies, and its scores there, as long as it still has
    these."""
    location, covariance = place

    def make() -> Reference:
        sides = np.sign(np.random.default_rng(0).standard_normal((_PROBED, len(covariance))))
        return Reference.at(model, location + _FAR * sides * np.sqrt(np.abs(np.diag(covariance))), template)

    def holds(found: Reference) -> bool:
        return _still_true(found, model, template)

    return kept_with(Knowledge(model).original, (_probes, type(model)), make, holds)


def sampler_failure(model: Any, template: Array | None = None) -> str:
    """Why a model that has a sampler could not be drawn from; empty where nothing failed."""
    found = _found(model, template)
    return found if isinstance(found, str) else ""


def _found(model: Any, template: Array | None) -> Reference | str | None:
    """The reference, or what the sampler raised; ``None`` without a sampler."""
    known = Knowledge(model)
    if known.sampler is None or not known.evaluable:
        return None
    if known.moved_reference is not None and known.move is not None:
        found = _found(known.move.model, template)
        return known.moved_reference(found) if isinstance(found, Reference) else found

    def holds(found: Reference | str) -> bool:
        return known.unchanging or isinstance(found, str) or _still_true(found, model, template)

    return kept_with(known.original, (Reference, type(model)), lambda: _made(model, template), holds)


def _made(model: Any, template: Array | None) -> Reference | str:
    try:
        known = Knowledge(model)
        draws = known.needed_draws(max(_LEAST, min(SIZE, _NUMBERS // (known.dimension or 1))))
    except Exception as error:  # a user's sampler may raise anything; what it raised is told
        return f"{type(error).__name__}: {error}"
    return Reference.at(model, draws, template)


def _finite_scores(model: Any, draws: Floats, template: Array | None) -> Floats | None:
    with np.errstate(all="ignore"):
        places = draws if template is None else like(draws, template)
        scores = to_host(score_of(model, places)).reshape(draws.shape)
    return scores if np.isfinite(scores).all() else None


def _still_true(reference: Reference, model: Any, template: Array | None) -> bool:
    """Whether the model still has the scores that it had at the first few draws."""
    if reference.scores is None:
        return True
    now = _finite_scores(model, reference.draws[:_PROBED], template)
    return now is not None and bool(np.allclose(now, reference.scores[:_PROBED], rtol=1e-3, atol=1e-6))
