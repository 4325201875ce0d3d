"""Everything public that can be called, found from the public names: a new one is covered by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import steinball as sb

# Made by the library and only read by users: their constructors have no checks to make.
MADE_BY_THE_LIBRARY = {
    "BettingJointNull", "BettingNull", "BootstrapNull", "BoundaryJointNull", "BoundaryNull", "Concession", "Detectable",
    "DeviationNull", "Estimate", "Explanation", "FitResult", "FittedModel", "Fragility", "GofResult",
    "CheckResult", "ColumnsResult", "ComparisonResult", "PredictiveResult", "RegionFitResult", "RegionResult",
    "Influence", "MinimumKSDFit", "MonteCarloNull", "Power", "Removal", "RemovalNull",
    "SampleSize", "SteinWitness", "Supremum", "ToleranceCurve",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """Something public to call with keywords; ``function`` takes them all."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]

    @classmethod
    def of(cls, name: str, function: Callable[..., Any], signature_of: Any = None) -> Entry:
        found = inspect.signature(function if signature_of is None else signature_of).parameters.values()
        return cls(name, function, tuple(p for p in found if p.name != "self" and not p.name.startswith("_")))


def entries() -> list[Entry]:
    """Functions, constructors and methods, in a fixed order."""
    found: dict[Any, Entry] = {}
    for name, value in _public():
        for entry, key in _callables(name, value):
            found.setdefault(key, entry)
    return [*found.values(), *_methods()]


def _public() -> Iterator[tuple[str, Any]]:
    for name in sorted(sb.__all__):
        value = getattr(sb, name)
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{inner}", getattr(value, inner)) for inner in sorted(value.__all__))
        else:
            yield name, value


def _callables(name: str, value: Any) -> Iterator[tuple[Entry, Any]]:
    if inspect.isfunction(value):
        yield Entry.of(name, value), value
    if not isinstance(value, type) or issubclass(value, BaseException) or inspect.isabstract(value):
        return
    if getattr(value, "_is_protocol", False) or value.__name__ in MADE_BY_THE_LIBRARY:
        return
    yield Entry.of(name, value), value
    for method in sorted(key for key, v in vars(value).items() if isinstance(v, classmethod) and key[0] != "_"):
        bound = getattr(value, method)
        yield Entry.of(f"{name}.{method}", bound), (value, method)


def _sample() -> Any:
    return np.random.default_rng(0).normal(size=20)


def _test() -> Any:
    kernel, tilt = sb.InverseMultiquadric(1.0), sb.PolynomialTilt()
    return sb.SequentialTest(sb.models.Gaussian(), kernel=kernel, tilt=tilt, tau=2.0, contamination=0.05)


def _result(**options: Any) -> Any:
    return sb.robust_ksd_test(
        _sample(), sb.models.Gaussian(), 0.05, rng=0, calibration=sb.BoundaryBootstrap(99), **options
    )


def _aggregated() -> Any:
    return sb.robust_ksdagg_test(_sample(), sb.models.Gaussian(), 0.05, rng=0)


def _methods() -> list[Entry]:
    """Methods of what the library makes, each on a fresh object."""
    makers: dict[str, Callable[[], Any]] = {
        "SequentialTest.update": _test, "GofResult.at": _result, "GofResult.extend": _result,
        "GofResult.interval": _result, "RobustAggregatedResult.at": _aggregated,
    }  # fmt: skip
    return [_method(name, make) for name, make in makers.items()]


def _method(name: str, make: Callable[[], Any]) -> Entry:
    method = name.rpartition(".")[2]
    return Entry.of(name, lambda **given: getattr(make(), method)(**given), getattr(type(make()), method))
