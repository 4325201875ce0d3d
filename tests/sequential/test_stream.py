"""A stream that was saved goes on as if it had not been, and files that are none are refused."""

from __future__ import annotations

import errno
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.kernels import Gaussian, InverseMultiquadric, Matern
from steinball.kernels.base import Kernel
from steinball.sequential import SequentialTest
from steinball.sequential import stream as states
from steinball.tilts import PolynomialTilt, Tilt
from tests.sequential.streams import KERNEL, a_test, score, stream

pytestmark = pytest.mark.exact


def saved(test: SequentialTest, folder: Path, model: Any = score, **again: Any) -> SequentialTest:
    test.save(folder / "stream.npz")
    return SequentialTest.load(folder / "stream.npz", model, **again)


@pytest.mark.parametrize(
    "options",
    [
        {"burn_in": 10, "kernel": None},
        {"kernel": [KERNEL, 0.5 * Matern(1.0, 2.5) + Gaussian(2.0) * Gaussian(1.0)], "tau": [3.0, 9.0]},
        {"contamination": 0.06, "tilt": PolynomialTilt(0.5, [0.1, 0.2], precision=[1.0, 2.0])},
        {"kernel": InverseMultiquadric(1.0, metric=[1.0, 3.0]), "tau": 9.0},
    ],
)
@pytest.mark.parametrize("cut", [0, 4, 25, 30, 47, 61, 140])
def test_a_restored_test_goes_on_bit_for_bit(options: dict[str, Any], cut: int, tmp_path: Path) -> None:
    """Stopped in the burn-in, before, at and after the budget of 30, and at and after a renewal (60, 120)."""
    x = stream(180, 2, seed=4)
    straight, stopped = (a_test(budget=30, **options).update(x[:cut]) for _ in range(2))
    resumed = saved(stopped, tmp_path)
    for part in (x[cut : cut + 7], x[cut + 7 :]):
        straight.update(part)
        resumed.update(part)
    assert straight.log_evalue == resumed.log_evalue
    assert straight.pvalue == resumed.pvalue
    assert (straight.n, straight.rejected_at) == (resumed.n, resumed.rejected_at)
    assert straight.contamination_bound == resumed.contamination_bound
    for mine, theirs in zip(straight.history, resumed.history, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert np.array_equal(np.atleast_1d(straight.radius), np.atleast_1d(resumed.radius))


def test_another_model_is_refused(tmp_path: Path) -> None:
    for cut in (10, 60):
        test = a_test(budget=30, burn_in=20).update(stream(cut))
        with pytest.raises(ValueError, match="`model` is not the one"):
            saved(test, tmp_path, lambda x: -1.01 * x)


@dataclass(frozen=True, eq=False)
class OwnKernel(Kernel):
    """A Gaussian kernel that this library does not know."""

    rate: float
    metric: Any = None

    def profile(self, r2: Any) -> Any:
        value = np.exp(-self.rate * r2)
        return value, -self.rate * value, self.rate**2 * r2 * value


class OwnTilt(Tilt):
    """The polynomial tilt at scale 1 under another name."""

    def __init__(self, center: float = 0.0) -> None:
        self.inner = PolynomialTilt(center=center)

    def log_weight(self, x: Any) -> Any:
        return self.inner.log_weight(x)

    def log_weight_gradient(self, x: Any) -> Any:
        return self.inner.log_weight_gradient(x)


def test_a_kernel_or_tilt_of_ones_own_is_brought_again_and_compared(tmp_path: Path) -> None:
    x = stream(60)
    test = a_test(kernel=OwnKernel(0.4), tilt=OwnTilt()).update(x[:40])
    resumed = saved(test, tmp_path, kernel=OwnKernel(0.4), tilt=OwnTilt())
    assert resumed.update(x[40:]).log_evalue == test.update(x[40:]).log_evalue
    for again, message in (
        ({"tilt": OwnTilt()}, "`kernel` that is not of this library"),
        ({"kernel": OwnKernel(0.4)}, "`tilt` that is not of this library"),
        ({"kernel": OwnKernel(0.5), "tilt": OwnTilt()}, "`kernel` or `tilt` is not the one"),
        ({"kernel": OwnKernel(0.4), "tilt": OwnTilt(0.2)}, "`kernel` or `tilt` is not the one"),
    ):
        with pytest.raises(ValueError, match=message):
            saved(test, tmp_path, **again)


def contents(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return dict(file)


def test_a_file_holds_plain_arrays_and_one_text(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    a_test(budget=30).update(stream(50)).save(path)
    with np.load(path, allow_pickle=False) as file:
        facts = json.loads(str(file["facts"]))
        assert all(file[name].dtype.kind in "fiU" for name in file.files)
    assert facts["schema"] == "steinball.sequential/4"
    kernel = {"type": "Kernel InverseMultiquadric", "lengthscale": math.sqrt(2.0), "exponent": 0.5, "metric": None}
    assert facts["plan"]["kernel"] == [kernel]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_cannot_run_anything(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    a_test().update(stream(5)).save(path)
    arrays = contents(path)
    facts = json.loads(str(arrays["facts"]))
    facts["plan"]["kernel"] = [{"type": "Exec", "lengthscale": 1.0}]
    kept = {name: arrays[name] for name in arrays if name not in ("facts", "digest")}
    states.write(path, "SequentialTest", facts, kept)
    with pytest.raises(ValueError, match="no built-in kernel"):
        SequentialTest.load(path, score)
    np.savez(path, **{**arrays, "kept.points": np.array([object()], dtype=object)})
    with pytest.raises(ValueError, match="pickle"):
        SequentialTest.load(path, score)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(ValueError, match="not a saved SequentialTest"):
        SequentialTest.load(path, score)


def test_a_torch_model_is_compared_with_the_next_batch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def torch_score(x: Any) -> Any:
        return -torch.clone(x)

    x = torch.asarray(stream(40))
    test = a_test(torch_score).update(x[:20])
    resumed = saved(test, tmp_path, torch_score)
    assert resumed.update(x[20:]).log_evalue == test.update(x[20:]).log_evalue
    wrong = saved(test, tmp_path, lambda x: -2.0 * torch.clone(x))
    with pytest.raises(ValueError, match="`model` is not the one"):
        wrong.update(x[20:])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"x,y\n1,2\n"])
def test_what_is_no_saved_test_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "stream.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a saved SequentialTest"):
        SequentialTest.load(path, sb.models.Gaussian())


def test_a_file_that_was_cut_off_or_holds_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    SequentialTest(sb.models.Gaussian(), contamination=0.05).update(np.zeros(30)).save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="or is truncated"):
        SequentialTest.load(path, sb.models.Gaussian())
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="is not a saved SequentialTest"):
        SequentialTest.load(path, sb.models.Gaussian())
    others: list[dict[str, Any]] = [{"facts": np.array("[1]")}, {"facts": np.array("{}")}, {"x": np.array([object()])}]
    for other in others:
        with path.open("wb") as file:
            np.savez(file, **other)
        with pytest.raises(ValueError, match="is not a saved SequentialTest"):
            SequentialTest.load(path, sb.models.Gaussian())


# Whole, or refused by its name


def refused(path: Path) -> None:
    with pytest.raises(ValueError, match=r"stream\.npz` is not a saved SequentialTest, or is truncated"):
        SequentialTest.load(path, score)


@pytest.mark.parametrize("points", [10, 60])
def test_a_file_without_one_of_its_parts_is_refused_by_name(tmp_path: Path, points: int) -> None:
    """In the burn-in and beyond the budget: every array, and every fact."""
    path = tmp_path / "stream.npz"
    a_test(budget=30, burn_in=20).update(stream(points)).save(path)
    arrays = contents(path)
    for name in arrays:
        np.savez(path, **{key: value for key, value in arrays.items() if key != name})
        refused(path)
    facts = json.loads(str(arrays["facts"]))
    for name in facts:
        text = json.dumps({key: value for key, value in facts.items() if key != name})
        np.savez(path, **{**arrays, "facts": np.array(text)})
        refused(path)


def test_a_file_whose_numbers_were_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    a_test(budget=30).update(stream(60)).save(path)
    arrays = contents(path)
    for name in ("wealth.best", "wealth.logs", "kept.points", "kept.seen", "path.log_wealth"):
        for value in (arrays[name] * np.nan, np.concatenate([np.atleast_1d(arrays[name])] * 2), np.array(["text"])):
            np.savez(path, **{**arrays, name: value})
            refused(path)


def found(path: Path) -> SequentialTest | None:
    """The test of a file; nothing where it is refused by its name."""
    try:
        return SequentialTest.load(path, score)
    except ValueError as error:
        if "is not a saved SequentialTest" not in str(error):
            raise
    return None


def test_a_file_cut_or_changed_anywhere_is_refused_or_the_same(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    whole = a_test(budget=30).update(stream(60))
    whole.save(path)
    content = path.read_bytes()
    for place in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:place])
        refused(path)
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        if restored := found(path):
            assert restored.log_evalue == whole.log_evalue


def test_a_disk_that_is_full_keeps_the_file_saved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "stream.npz"
    test = a_test(budget=30).update(stream(40))
    test.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device.*stream\.npz"):
        test.update(stream(40)).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
