"""The file of a stream's test: whole, or refused by its name."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.kernels import InverseMultiquadric
from steinball.sequential.stream import SequentialTest
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact


def score(x: Any) -> Any:
    return -x


def stream(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(n, 1))


def a_test(**options: Any) -> SequentialTest:
    kernel, tilt = InverseMultiquadric(1.0), PolynomialTilt()
    return SequentialTest(score, kernel=kernel, tilt=tilt, tau=1.7, contamination=0.05, rng=0, **options)


def contents(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return dict(file)


def refused(path: Path) -> None:
    with pytest.raises(ValueError, match=r"stream\.npz` is not a saved SequentialTest, or is truncated"):
        SequentialTest.restore(path, score)


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
    for name in ("ledger.best", "ledger.logs", "taus", "kept.seen", "history.log_wealth"):
        for value in (arrays[name] * np.nan, np.concatenate([np.atleast_1d(arrays[name])] * 2), np.array(["text"])):
            np.savez(path, **{**arrays, name: value})
            refused(path)


def found(path: Path) -> SequentialTest | None:
    """The test of a file; nothing where it is refused by its name."""
    try:
        return SequentialTest.restore(path, score)
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
