"""The family that a user means: a name, an object of another library, anything that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from steinball.adapters.scikit_learn import fitted_copy, fitted_model
from steinball.arrays import Floats, as_number, check_kind, check_resamples
from steinball.models.base import Model
from steinball.models.family import Family, Restricted
from steinball.models.gaussian import NormalFamily
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import MixtureFamily
from steinball.models.positive import GammaFamily, LogNormalFamily, WeibullFamily
from steinball.models.registry import Fit, read_family
from steinball.models.student_t import StudentFamily


def _exponential() -> Family:
    found = Restricted(GammaFamily(), {"shape": 1.0})
    found.label, found.fixed = "exponential", ()
    return found


_ON_THE_LINE: Mapping[str, Callable[[], Family]] = {
    "student-t": StudentFamily,
    "exponential": _exponential,
    "gamma": GammaFamily,
    "lognormal": LogNormalFamily,
    "weibull": WeibullFamily,
}
FAMILIES = ("normal", *_ON_THE_LINE, "mixture:k")
_SYNONYMS = {"gaussian": "normal", "t": "student-t", "student": "student-t", "log-normal": "lognormal"}


@dataclass(frozen=True, eq=False)
class Fitter:
    """Something that fits models and whose parameters are not known: ``fit(x)`` gives a model."""

    fit: Callable[[Floats], Model]
    label: str


def as_family(family: Any, dimension: int, known_params: Mapping[str, float] | None = None) -> Family | Fitter:
    """The family that a user means, for data with so many columns.

    Parameters
    ----------
    family : str, Family, distribution of SciPy, or object with ``fit``
        A name of ``"normal"``, ``"student-t"``, ``"exponential"``, ``"gamma"``, ``"lognormal"``, ``"weibull"`` and
        ``"mixture:3"``.
    dimension : int
        d.
    known_params : mapping, optional
        Parameters that are not fitted, by name.

    Examples
    --------
    >>> as_family("mixture:2", 1).names
    ('weight[1]', 'mean[1]', 'var[1]', 'mean[2]', 'var[2]')
    """
    given = check_kind({} if known_params is None else known_params, Mapping, "known_params", "a mapping of numbers")
    known = {name: as_number(value, f"known_params[{name!r}]") for name, value in given.items()}
    found = _found(family, check_resamples(dimension, "dimension"), known)
    if isinstance(found, Family):
        known = {name: value for name, value in known.items() if name not in found.fixed}
        return Restricted(found, known) if known else found
    fitter = Fitter(found, Knowledge(family).name or type(family).__name__)
    if known:
        raise ValueError(f"`known_params` cannot be given for {fitter.label}, whose parameters are its own affair.")
    return fitter


def _found(family: Any, dimension: int, known: dict[str, float]) -> Family | Fit:
    if isinstance(family, Family):
        return family
    if isinstance(family, str):
        return _named(family, dimension)
    if isinstance(family, type):
        raise TypeError(f"`family` must be an instance, got the class {family.__name__}; make one.")
    if (found := read_family(family, dimension, known)) is not None:
        return found
    if "fit" in dir(family):
        return partial(fitted_copy, family)
    if Knowledge(family).has_score:
        raise TypeError(
            f"`family` is one model, an object of type {type(family).__name__}, and not what fits one. Test a model "
            "that is known by `sb.ksd_test`; or pass a function from data to a model."
        )
    if not callable(family):
        raise TypeError(
            f"`family` must be one of {', '.join(FAMILIES)}, a distribution of scipy.stats, or have `fit(x)` that "
            f"returns a model, got an object of type {type(family).__name__}."
        )
    return partial(_fitted_by, family)


def _fitted_by(function: Callable[[Floats], Any], x: Floats) -> Model:
    return fitted_model(function(x))


def _named(text: str, dimension: int) -> Family:
    name, _, size = text.strip().lower().partition(":")
    name = _SYNONYMS.get(name, name)
    if name == "normal" and not size:
        return NormalFamily(dimension)
    if name == "mixture" and re.fullmatch(r"[1-9]\d?", size):
        return MixtureFamily(int(size), dimension)
    if name not in _ON_THE_LINE or size:
        known = ", ".join(f'"{family}"' for family in FAMILIES)
        raise ValueError(f"`family` must be one of {known} (with a number for k), got {text!r}.")
    if dimension != 1:
        raise ValueError(f"`family={text!r}` is on the line, but `x` has {dimension} columns. Use one column.")
    return _ON_THE_LINE[name]()
