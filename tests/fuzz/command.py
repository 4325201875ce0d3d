"""Hostile files and options for the command, which runs inside this process."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import steinball as sb
from steinball_command import main
from tests.fuzz.values import Floats, Rng

Make = Callable[[Path, Floats], str]


def _text(content: str, name: str = "x.csv") -> Make:
    def make(folder: Path, x: Floats) -> str:
        (folder / name).write_text(content, encoding="utf-8")
        return str(folder / name)

    return make


def _bytes(content: bytes, name: str) -> Make:
    def make(folder: Path, x: Floats) -> str:
        (folder / name).write_bytes(content)
        return str(folder / name)

    return make


def _csv(folder: Path, x: Floats) -> str:
    np.savetxt(folder / "x.csv", x, delimiter=",", header=",".join("abc"[: x.shape[1]]), comments="")
    return str(folder / "x.csv")


def _npy(folder: Path, x: Floats) -> str:
    np.save(folder / "x.npy", x)
    return str(folder / "x.npy")


def _npz(folder: Path, x: Floats) -> str:
    np.savez(folder / "x.npz", x=x)
    return str(folder / "x.npz")


def _cut(make: Make, share: float) -> Make:
    def cut(folder: Path, x: Floats) -> str:
        path = Path(make(folder, x))
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        return str(path)

    return cut


def _objects(folder: Path, x: Floats) -> str:
    np.save(folder / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return str(folder / "o.npy")


GOOD: dict[str, Make] = {"csv": _csv, "npy": _npy, "npz": _npz}
FILES: dict[str, Make] = {
    "empty": _text(""),
    "blank lines": _text("\n\n\n"),
    "header alone": _text("a,b\n"),
    "text cells": _text("a\n1\nfoo\n3\n"),
    "NaN cell": _text("a\n1\nnan\n3\n"),
    "infinite cell": _text("a\n1\n1e999\n3\n"),
    "ragged": _text("a,b\n1,2\n3\n"),
    "pandas index": _text(",a\n0,1.5\n1,2.5\n2,0.5\n"),
    "decimal commas": _text("1,5\n2,5\n0,5\n"),
    "quotes": _text('"a\n"1\n2\n'),
    "NUL bytes": _bytes(b"a\n1\n\x00\n2\n", "x.csv"),
    "not UTF-8": _bytes(b"a\n1\n\xff\xfe2\n", "x.csv"),
    "UTF-16": _bytes("a\n1\n2\n3\n".encode("utf-16"), "x.csv"),
    "one long number": _text("a\n" + "1" * 5000 + "\n2\n3\n"),
    "no ending": _text("1\n2\n", "x"),
    "another ending": _text("1\n2\n", "x.xlsx"),
    "garbage npy": _bytes(b"\x93NUMPY garbage", "x.npy"),
    "garbage npz": _bytes(b"PK\x03\x04garbage", "x.npz"),
    "garbage parquet": _bytes(b"PAR1garbagePAR1", "x.parquet"),
    "objects": _objects,
    "half of a csv": _cut(_csv, 0.9),
    "half of an npy": _cut(_npy, 0.6),
    "half of an npz": _cut(_npz, 0.6),
    "no file": lambda folder, x: str(folder / "absent.csv"),
    "a folder": lambda folder, x: str(folder),
}

OPTIONS: dict[str, tuple[str, ...]] = {
    "--model": (
        "normal", "normal:mean=nan", "normal:mean=1e400", "normal:cov=-1", "gaussian:mean=[1,2,3,4]", "foo", "", ":",
        "=", "normal:mean", "normal:mean=0,mean=1", "mixture:weights=[1],means=[0]", "rbm:@absent.npz",
        "kef:coefficients=[]",
        "absent.py:f", "normal:mean=[[1],[2,3]]", "student-t:df=1e-320", "normal:" + "mean=" + "[" * 3000 + "]" * 3000,
    ),
    "--contamination": ("-1", "2", "nan", "5%", "5%%", "abc", "", "1e-320", "inf"),
    "--level": ("0", "1", "1e-320", "nan", "abc", "5%", "-0.1"),
    "--resamples": ("0", "-1", "1", "10", "abc", "1e3", "1" + "0" * 30, "1" + "0" * 400),
    "--calibration": ("boundary", "weighted", "wild", "betting", "deviation", "foo", ""),
    "--tau": ("best", "auto", "sample", "optimized", "nan", "-1", "1e-300", "1e300", "foo"),
    "--kernel": (
        "imq:lengthscale=1e-155", "imq:lengthscale=0", "gaussian", "matern", "matern:smoothness=9", "foo", "imq:b",
    ),
    "--columns": ("a,a", "a", "1", "0", "-1", "99", "", ",", "z", "1,b"),
    "--key": ("x", "absent", ""),
    "--missing": ("drop", "error", "keep", ""),
    "--na": ("-99", "k.A.", "", "nan", "1,5", "1e999"),
    "--skip-lines": ("1", "2-3", "0", "1-99999999999", "x", "3-1", ""),
    "--encoding": ("latin-1", "utf-16", "utf-8", "hex", "klingon", ""),
    "--decimal": (",", ".", ";", ""),
    "--thousands": (",", ".", " ", "'", "x", ""),
    "--fit": ("normal", "mixture:0", "absent.py:f", ""),
    "--engine": ("dense", "blocked", "lowrank", "foo", ""),
    "--jobs": ("0", "1", "-1", "abc", "99999999999999999999"),
    "--memory-limit": ("0", "1", "1kB", "abc", "-1GB", "1e400GB", "nan"),
    "--seed": ("-1", "abc", "1" + "0" * 40),
    "--backend": ("foo", "numerical", "torch"),
    "--log-density": ("absent.py:f", "normal", ""),
    "--radius": ("0", "-1", "nan", "inf", "abc", "0.1"),
}  # fmt: skip
FLAGS = ("--header", "--no-header", "--jumps", "--aggregate", "--no-progress", "--debug", "--absent")
# Names of exceptions that the command may show: its own, and of a module that is not there.
_SHOWN = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Warning)): ")


def run(rng: Rng) -> tuple[str, dict[str, str], str]:
    """One run: how it ended, what was given, and why it failed."""
    x = rng.normal(size=(int(rng.integers(8, 30)), int(rng.choice([1, 2]))))
    clean = rng.random() < 0.6
    table = GOOD if clean else FILES
    label = str(rng.choice(list(table)))
    options = {"--model": "normal", "--contamination": "0.05", "--resamples": "39"}
    changed = {str(k) for k in rng.choice(list(OPTIONS), size=int(rng.integers(0, 3)))}
    options |= {key: str(rng.choice(OPTIONS[key])) for key in sorted(changed)}
    flags = [str(f) for f in rng.choice(FLAGS, size=int(rng.choice([0, 0, 0, 1])))]
    given = {"file": label, **{k: v[:40] for k, v in options.items()}, "flags": " ".join(flags)}
    with tempfile.TemporaryDirectory() as folder:
        path = table[label](Path(folder), x)
        arguments = ["test", path, "--json", *(part for pair in options.items() for part in pair), *flags]
        code, out, err = invoke(arguments)
    why = _why(code, out, err, x if clean and not changed and not flags else None)
    return "failed" if why else "right" if code in (0, 1) else "refused", given, why


def invoke(arguments: list[str]) -> tuple[object, str, str]:
    """The exit code and what was written to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["steinball", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        old = sys.stdout
        try:
            main()
            code: object = None
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout = old
    return code, out.getvalue(), err.getvalue()


def _why(code: object, out: str, err: str, x: Floats | None) -> str:
    """What is wrong with how it ended, or nothing."""
    if code not in (0, 1, 2):
        return f"exit code {code!r}"
    if code in (0, 1):
        return _wrong_answer(code, out, x)
    if x is not None:
        return f"refused clean data: {err}"
    foreign = [name for name in _SHOWN.findall(err.rpartition("steinball: error")[2]) if name != "ValueError"]
    return f"foreign error: {err[-300:]}" if foreign else "" if err.strip() else "said nothing"


def _wrong_answer(code: object, out: str, x: Floats | None) -> str:
    said: dict[str, Any] = json.loads(out)
    if said["rejected"] != bool(code) or not 0.0 <= said["pvalue"] <= 1.0:
        return f"rejected: {said['rejected']}, p = {said['pvalue']}, exit code {code}"
    if x is None:
        return ""
    model, calibration = sb.models.Gaussian(dimension=x.shape[1]), sb.BoundaryBootstrap(39, scheme="scaled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SteinballWarning)
        expected = sb.robust_ksd_test(x, model, 0.05, calibration=calibration, rng=0)
    close = np.isclose(said["ksd"], expected.ksd, rtol=1e-12)
    if not close or said["pvalue"] != expected.pvalue:
        return f"D = {said['ksd']} and p = {said['pvalue']}, not {expected.ksd} and {expected.pvalue}"
    return ""
