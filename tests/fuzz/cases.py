"""One case: something public is called with a hostile value among sensible ones, and the outcome is judged."""

from __future__ import annotations

import copy
import re
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import steinball as sb
from tests.fuzz import command
from tests.fuzz.entries import Entry, entries
from tests.fuzz.hostile_models import hostile_model
from tests.fuzz.oracle import check_decision, check_gof
from tests.fuzz.sensible import Scene, chains, sensible
from tests.fuzz.values import DeliberateError, Value, framed, good_array, hostile_array, scalar

LIMIT = 30.0
"""Seconds that one case may take."""

_ARRAYS = {
    "x", "y", "samples", "batch", "base_scores", "basis_jacobians", "mean", "cov", "sd", "means", "weights", "center",
    "metric", "precision", "location", "shape", "modes", "locations", "covariances", "lower", "upper", "coefficients",
    "visible_bias", "hidden_bias", "scale", "low", "high", "draws", "starts",
}  # fmt: skip
_SAMPLES = {"x", "y", "samples", "batch", "draws"}
# What errors call a parameter: samples are those of `x`, and a model is spoken of by its methods.
_ALIASES = {
    "x": ("samples",),
    "y": ("samples", "draws of the model"),
    "value": ("radius",),
    "base": ("radius",),
    "model": ("support", "score_growth"),
    "result": ("fragility",),
}
_COMMANDS = 0.06
_WIDE = {"ksd_test", "robust_ksd_test", "ksd", "robust_ksdagg_test", "SequentialTest.update"}


class TimeOutError(BaseException):
    """A case took longer than it may; no handler of the library may swallow it."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended: ``right``, ``refused`` or ``failed``, and why."""

    kind: str
    entry: str
    given: dict[str, str] = field(default_factory=dict)
    why: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name}: {label}" for name, label in self.given.items() if label != "sensible")
        return f"{self.kind}: {self.entry}({given}) {self.why}"


@cache
def _entries() -> list[Entry]:
    found = entries()
    return found + 3 * [entry for entry in found if entry.name in _WIDE]


def run_case(seed: int, number: int) -> Outcome:
    """The case of that number in the series of that seed."""
    rng = np.random.default_rng([seed, number])
    if rng.random() < _COMMANDS:
        kind, options, why = command.run(rng)
        return Outcome(kind, "command", options, why)
    scene = Scene(rng, rng.normal(size=(int(rng.integers(8, 30)), int(rng.choice([1, 1, 2, 3])))))
    entry = _entries()[int(rng.integers(len(_entries())))]
    given = _given(entry, scene)
    labels = {name: value.label for name, value in given.items()}
    kind, why = _judged(entry, given)
    return Outcome(kind, entry.name, labels, why)


def _given(entry: Entry, scene: Scene) -> dict[str, Value]:
    """Sensible values, one or two of which are replaced."""
    chosen = {p.name: sensible(entry.name, p, scene) for p in entry.parameters if p.kind is not p.VAR_KEYWORD}
    given = {name: value for name, value in chosen.items() if value is not None}
    names = sorted(chosen)
    if not names:
        return given
    if entry.name in _WIDE and scene.rng.random() < 0.4:  # only the dress of the samples is unusual
        return _dressed(given, scene)
    for name in scene.rng.choice(names, size=int(scene.rng.choice([1, 1, 1, 2]))):
        given[str(name)] = _hostile(str(name), scene)
    return given


def _dressed(given: dict[str, Value], scene: Scene) -> dict[str, Value]:
    name = "batch" if "batch" in given else "x"
    dress = good_array if scene.rng.random() < 0.6 else framed
    return {**given, name: dress(scene.rng, scene.x[:, :1] if name == "batch" else scene.x)}


def _hostile(name: str, scene: Scene) -> Value:
    if name == "model" and scene.rng.random() < 0.8:
        return hostile_model(scene.rng, scene.x)
    if name == "draws" and scene.rng.random() < 0.8:
        return hostile_array(scene.rng, np.concatenate(chains(scene)))
    if name in _ARRAYS and scene.rng.random() < 0.8:
        return hostile_array(scene.rng, scene.x)
    return scalar(scene.rng)


def _judged(entry: Entry, given: dict[str, Value]) -> tuple[str, str]:
    before = {name: _copied(value.value) for name, value in given.items()}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with _limited(LIMIT):
                result = entry.function(**{name: value.value for name, value in given.items()})
                why = _wrong(entry, given, result) or ""
            kind = "failed" if why else "right"
        except TimeOutError:
            kind, why = "failed", f"took longer than {LIMIT:g} s"
        except Exception as error:
            kind, why = _refusal(error, entry)
    foreign = [w for w in said if not _ours(w)]
    changed = [name for name, value in given.items() if not _same(before[name], value.value)]
    if foreign and kind != "failed":
        kind, why = "failed", f"warned: {foreign[0].category.__name__}: {foreign[0].message} ({foreign[0].filename})"
    if changed and kind != "failed":
        kind, why = "failed", f"changed {changed}"
    return kind, why


def _ours(warning: Any) -> bool:
    ours = issubclass(warning.category, (sb.SteinballWarning, DeprecationWarning))
    return ours or Path(warning.filename).parent == Path(__file__).parent  # a model of the fuzzer warned


def _refusal(error: Exception, entry: Entry) -> tuple[str, str]:
    """Whether an error is a refusal that names an argument of the call, or lets a model's own error pass."""
    names = [p.name for p in entry.parameters]
    names += [alias for name in names for alias in _ALIASES.get(name, ())]
    spoken = " ".join(re.findall(r"`([^`]*)`", str(error)))
    named = [name for name in names if re.search(rf"\b{re.escape(name)}\b", spoken)]
    if isinstance(error, OSError) and "path" in names and error.filename is not None:
        return "refused", str(error)  # a file is named by its own name
    if isinstance(error, DeliberateError) or (isinstance(error, (ValueError, TypeError)) and named):
        return "refused", f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    ours = [f for f in frames if "steinball" in f.filename and "fuzz" not in Path(f.filename).parent.name]
    inside = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return "failed", f"{type(error).__name__}: {str(error)[:300]} at {place}, {inside}"


def _wrong(entry: Entry, given: dict[str, Value], result: Any) -> str | None:
    """What is wrong with an answer, or ``None``."""
    for name in _SAMPLES & set(given):
        if given[name].bad and not _has_a_meaning(entry, given[name]):
            return f"accepted {name}: {given[name].label}"
    if "model" in given and given["model"].bad and "x" in given and not entry.name.endswith("check_score"):
        return f"accepted {given['model'].label}"
    if not hasattr(result, "pvalue") or not hasattr(result, "rejected"):
        return _wrong_number(entry, result)
    if not isinstance(result, sb.GofResult):
        return check_decision(result) if hasattr(result, "statistic") else None
    return _wrong_gof(given, result)


def _has_a_meaning(entry: Entry, value: Value) -> bool:
    """Whether what is bad elsewhere means something here: no rows yet, or chains of draws."""
    return (entry.name, value.label) in {("SequentialTest.update", "no rows"), ("mcmc_test", "three axes")}


def _wrong_number(entry: Entry, result: Any) -> str | None:
    if isinstance(result, float) and not (np.isfinite(result) and result >= 0.0):
        return f"the answer is {result!r}"
    return None


def _wrong_gof(given: dict[str, Value], result: Any) -> str | None:
    x, model = given.get("x"), given.get("model")
    if x is None or model is None or x.plain is None or model.plain is None or "jumps" in given:
        return check_decision(result)
    plain = x.plain[:, None] if x.plain.ndim == 1 else x.plain
    if np.abs(plain).max() > 1e30 or result.engine == "lowrank":
        return check_decision(result)
    narrow = "jax" in x.label
    return check_gof(result, plain, -plain, "float32" if narrow else "float64")


def _copied(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, np.ndarray) else value


def _same(before: Any, after: Any) -> bool:
    if not isinstance(before, np.ndarray):
        return True
    return before.tobytes() == after.tobytes() if before.dtype != object else True


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeOutError` inside after so many seconds."""

    def ring(*_: object) -> None:
        raise TimeOutError

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
