"""Models and kernels from short texts: ``gaussian:mean=0,cov=1``, ``scipy:gamma:a=2``, ``rbm:@parameters.npz`` or
``file.py:name``.

Values are JSON (a number or nested lists of numbers); nothing is ever evaluated as code, except the Python file that
the user names.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball import kernels, models
from steinball.cli.datafiles import read_npz
from steinball_command.options import Model

USER_MODULE = "_steinball_user_"
"""How the names of modules begin that are users' own files."""

# The parameters of a model or kernel are those of its class.
_MODELS: Mapping[str, type] = {
    "gaussian": models.Gaussian,
    "normal": models.Gaussian,
    "student-t": models.StudentT,
    "t": models.StudentT,
    "mixture": models.GaussianMixture,
    "rbm": models.GaussianBernoulliRBM,
    "kef": models.KernelExponentialFamily,
}
_PARAMETERS = {models.Gaussian: {"loc": "mean", "scale": "sd"}, models.StudentT: {"loc": "location"}}  # SciPy's words
_KERNELS: Mapping[str, type] = {"imq": kernels.InverseMultiquadric} | {
    name.lower(): vars(kernels)[name]
    for name in kernels.__all__
    if isinstance(vars(kernels)[name], type) and "lengthscale" in inspect.signature(vars(kernels)[name]).parameters
}
_NOT_PARAMETERS = {"dimension", "metric"}  # the first is that of the data; the second has no short form


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name:key=value,...`` or ``name:@file`` into the name and its parameters.

    Parameters
    ----------
    text : str
        Values are JSON: ``0.5``, ``[1, 2]``, ``[[1, 0], [0, 1]]``. A file is JSON or NPZ.

    Examples
    --------
    >>> parse_spec("gaussian:mean=[0,1],cov=2")
    ('gaussian', {'mean': [0, 1], 'cov': 2})
    """
    name, _, rest = text.strip().partition(":")
    if rest.startswith("@"):
        return name, _parameters_of_file(rest[1:])
    pairs = [_pair(part, text) for part in re.split(r",(?=\s*\w+\s*=)", rest) if part.strip()]
    if len(dict(pairs)) < len(pairs):
        raise ValueError(f"`{text}` gives a parameter twice.")
    return name, dict(pairs)


def _pair(part: str, text: str) -> tuple[str, Any]:
    key, equals, value = part.partition("=")
    if not equals:
        raise ValueError(f"`{text}`: `{part.strip()}` must have the form key=value, as in normal:mean=0,sd=1.")
    try:
        parsed = json.loads(re.sub(r"(?<![\d.])\.(?=\d)", "0.", value))  # .5 is 0.5
    except (ValueError, RecursionError):
        raise ValueError(f"`{text}`: `{value}` must be a number or a list such as [1,2] or [[1,0],[0,1]].") from None
    return key.strip(), _checked(key.strip(), parsed)


def _checked(key: str, value: Any) -> Any:
    """``value`` unchanged, if it is a number or a rectangular list of finite numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"`{key}` must be a rectangular list; its rows differ in length.") from None
    if array.dtype.kind not in "fiu" or not array.size or not np.isfinite(array).all():
        raise ValueError(f"`{key}` must hold finite numbers only, got {value!r}.")
    return value


def _parameters_of_file(path: str) -> dict[str, Any]:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".npz"):
        raise ValueError(f"`@{path}`: a file of parameters must end in .json or .npz.")
    try:
        loaded = read_npz(path) if suffix == ".npz" else json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(f"`{path}` must be JSON with finite numbers: {error}.") from None
    if not isinstance(loaded, dict):
        raise ValueError(f"`{path}` must hold a JSON object of parameters, got {type(loaded).__name__}.")
    return {key: _checked(key, value) for key, value in loaded.items()}


def model_from(chosen: Model, dimension: int) -> Any:
    """What ``--model`` or ``--log-density`` names, for data of this dimension; a family by its name, or of a file.

    Examples
    --------
    >>> model_from(Model("normal:mean=0,sd=2"), dimension=3).covariance.diagonal()
    array([4., 4., 4.])
    """
    model, log_density, family = chosen.model, chosen.log_density, chosen.fit
    if [model, log_density, family].count(None) != 2:
        raise ValueError("give one of `--model`, `--log-density` and `--fit`.")
    if log_density is not None:
        return models.from_log_density(load(log_density), backend=chosen.backend or "numerical")
    if chosen.backend is not None:
        raise ValueError(f"`--backend {chosen.backend}` differentiates a log density; it goes with `--log-density`.")
    if model is None:
        return load(str(family)) if python_file(family) else family
    if python_file(model):
        return _load_model(model)
    return _scipy_distribution(model) if model.startswith("scipy:") else _built_in(model, dimension)


def _built_in(text: str, dimension: int) -> Any:
    name, parameters = parse_spec(text)
    known = _PARAMETERS.get(_MODELS[name], {}) if name in _MODELS else {}
    named = {known.get(key, key): value for key, value in parameters.items()}
    if len(named) < len(parameters):
        raise ValueError(f"`{text}` gives a parameter twice, by two names.")
    return _build("model", _MODELS, name, named, dimension=dimension)


def _scipy_distribution(text: str) -> Any:
    """The frozen distribution that ``scipy:gamma:a=2,scale=3`` names."""
    from scipy import stats

    name, parameters = parse_spec(text.removeprefix("scipy:"))
    family = vars(stats).get(name)
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        raise ValueError(f"`{text}`: scipy.stats has no distribution `{name}`, as in scipy:gamma:a=2,scale=3.")
    shapes = family.shapes.split(", ") if family.shapes else []
    known = [*shapes, "loc", *(["scale"] if isinstance(family, stats.rv_continuous) else [])]
    _check_names(f"scipy.stats.{name}", f"scipy:{name}", parameters, known, shapes)
    frozen = family(**parameters)
    if not np.isfinite(np.atleast_1d(frozen.ppf(0.5))).all():
        raise ValueError(f"`{text}`: scipy.stats.{name} does not allow these parameters.")
    return frozen


def kernel_from(text: str, samples: NDArray[Any]) -> kernels.Kernel:
    """The kernel that ``--kernel`` names; without a length scale, at the median distance of the samples.

    Examples
    --------
    >>> kernel_from("gaussian", np.array([[0.0], [1.0], [3.0]])).lengthscale
    2.0
    """
    if python_file(text):
        return load(text)  # type: ignore[no-any-return]
    name, parameters = parse_spec(text)
    if name in _KERNELS and "lengthscale" not in parameters:
        parameters["lengthscale"] = kernels.median_distance(samples)
    return _build("kernel", _KERNELS, name, parameters)  # type: ignore[no-any-return]


def _build(kind: str, table: Mapping[str, type], name: str, parameters: dict[str, Any], **known: Any) -> Any:
    """The class that ``name`` stands for, called with the parameters given and those of ``known`` that it takes."""
    if name not in table:
        others = "scipy:NAME or FILE.py:NAME" if kind == "model" else "or FILE.py:NAME"
        raise ValueError(f"`--{kind}` must be one of {', '.join(table)}, {others}, got `{name}`.")
    signature = {p.name: p.default is p.empty for p in inspect.signature(table[name]).parameters.values()}
    own = [key for key in signature if key not in _NOT_PARAMETERS]
    _check_names(f"{kind} `{name}`", name, parameters, own, [key for key in own if signature[key]])
    return table[name](**parameters, **{key: value for key, value in known.items() if key in signature})


def _check_names(what: str, spec: str, given: Collection[str], known: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse parameters that ``what`` does not have, and the lack of those that it needs."""
    for wrong in (key for key in given if key not in known):
        raise ValueError(f"{what} has no parameter `{wrong}`; it has {', '.join(known)}.")
    for missing in (key for key in needed if key not in given):
        raise ValueError(f"{what} needs `{missing}`, as in {spec}:{missing}=...; it has {', '.join(known)}.")


# Models, kernels and what else is in a user's own Python file, named ``file.py:name``.


def python_file(text: str | None) -> str | None:
    """The file part of ``file.py:name``, or None where ``text`` names no Python file.

    Examples
    --------
    >>> python_file("models/mine.py:score"), python_file("gaussian:mean=0")
    ('models/mine.py', None)
    """
    path, _, name = (text or "").rpartition(":")
    if path.endswith(".py"):
        return path
    return name if name.endswith(".py") else None


def _load_model(text: str) -> Any:
    """The score function or model that ``file.py:name`` is; scores at the rows are `sb.from_scores(array)` there.

    A function counts as a score. One whose name starts with ``log`` is refused, and one that does not return the shape
    of its argument too: it may be a log density, and that has its own option.
    """
    thing = load(text)
    if isinstance(thing, type):
        raise TypeError(f"`{text}` is a class; name an instance of it, such as `model = {thing.__name__}(...)`.")
    if not callable(thing) or hasattr(thing, "score"):
        return thing
    if text.rpartition(":")[2].startswith("log"):
        raise ValueError(
            f"`{text}` sounds like a log density; pass it with `--log-density`, or rename it if it is a score."
        )
    return _with_checked_shape(thing, text)


def load(text: str) -> Any:
    """What ``file.py:name`` is; the file is run."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise ValueError(f"`{text}` must have the form FILE.py:NAME.")
    module = _import(Path(path))
    if not hasattr(module, name):
        there = ", ".join(key for key in vars(module) if not key.startswith("_"))
        raise ValueError(f"`{path}` has no `{name}`; it has {there or 'nothing'}.")
    return getattr(module, name)


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(USER_MODULE + path.stem, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise ValueError(f"there is no file `{path}`.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # it may import its neighbors, as a script does
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
        sys.path.append(folder)  # a neighbor called random.py must not take the place of Python's own in what we import
    return module


def _with_checked_shape(score: Callable[[Any], Any], text: str) -> Callable[[Any], Any]:
    """In one dimension scores (n,) and log densities (n,) look alike: only (n, d) is beyond doubt."""

    def checked(x: Any) -> Any:
        scores = score(x)
        if np.shape(scores) != x.shape:
            raise ValueError(
                f"`{text}` must return scores of the shape of its argument, {x.shape}, got {np.shape(scores)}; "
                "a log density is passed with `--log-density`."
            )
        return scores

    return checked
