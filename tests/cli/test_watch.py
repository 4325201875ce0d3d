"""``steinball monitor``: alarms, states, restarts, and what is refused with nothing lost."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.files import only_writer

pytestmark = pytest.mark.exact
Command = Callable[..., Any]
Floats = NDArray[np.float64]
WORDS = ("--model", "normal", "--contamination", "5%", "--expected-run", "500")


def feed(n: int = 300, d: int = 1, seed: int = 0) -> Floats:
    """Standard normal rows, the last third of them moved."""
    x = np.random.default_rng(seed).normal(size=(n, d)).round(4)
    x[-n // 3 :, -1] += 1.5
    return x


def csv(rows: Floats, header: str = "") -> str:
    return header + "".join(",".join(map(str, row)) + "\n" for row in rows.tolist())


@pytest.fixture
def monitor(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command as a function of what stands on its standard input, and of its options."""

    def run(text: str, *words: str) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return command("monitor", *WORDS, *words)

    return run


def alarms_of(done: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_alarms_are_those_of_the_library_by_the_names_of_columns(monitor: Command) -> None:
    x = feed(d=2)
    expected = sb.Monitor(sb.models.Gaussian(dimension=2), 0.05, 500).update(x)
    done = monitor(csv(x, "temp,flow\n"))
    assert (done.exit_code, done.stderr) == (1, f"steinball: 300 rows so far, {len(expected)} alarms\n")
    assert [(a["row"], a["column"]) for a in alarms_of(done)] == [(a.row, "flow") for a in expected]
    assert [a["wealth"] for a in alarms_of(done)] == pytest.approx([a.wealth for a in expected])
    assert [a["column"] for a in alarms_of(monitor(csv(x)))] == ["x2"] * len(expected)
    assert next(a["column"] for a in alarms_of(monitor(csv(np.full((30, 9), 2.0))))) is None


def test_no_alarm_is_code_0_and_an_empty_output(monitor: Command) -> None:
    done = monitor(csv(feed()[:100]))
    assert (done.exit_code, done.stdout) == (0, "")


def test_every_row_has_its_line(monitor: Command) -> None:
    x = feed(90)
    told = alarms_of(monitor(csv(x), "--every"))
    whole = sb.Monitor(sb.models.Gaussian(), 0.05, 500)
    alarms = whole.update(x)
    assert [line["row"] for line in told] == list(range(1, 91))
    assert [line["wealth"] for line in told] == pytest.approx(whole.last_wealth.tolist())
    assert [line["row"] for line in told if line["alarm"]] == [alarm.row for alarm in alarms]


def test_a_feed_in_two_parts_with_a_state_is_the_whole_feed(monitor: Command, tmp_path: Path) -> None:
    x, state = feed(), str(tmp_path / "state.npz")
    whole = alarms_of(monitor(csv(x)))
    parts = [monitor(csv(part), "--state", state) for part in (x[:230], x[230:])]
    found = [alarm for part in parts for alarm in alarms_of(part)]
    assert [a["row"] for a in found] == [a["row"] for a in whole]
    assert [a["wealth"] for a in found] == pytest.approx([a["wealth"] for a in whole])
    assert sb.Monitor.load(state, sb.models.Gaussian()).n == 300


def test_rows_that_were_counted_are_skipped_when_they_come_again(monitor: Command, tmp_path: Path) -> None:
    x, state = feed(), str(tmp_path / "state.npz")
    whole = alarms_of(monitor(csv(x)))
    first = alarms_of(monitor(csv(x[:230]), "--state", state))
    rest = monitor(csv(x), "--state", state, "--again")
    assert [a["row"] for a in (*first, *alarms_of(rest))] == [a["row"] for a in whole]
    nothing = monitor(csv(x), "--state", state, "--again")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert sb.Monitor.load(state, sb.models.Gaussian()).n == 300


@pytest.mark.parametrize("bad", ["nan", "", "1,2", "two"])
def test_rows_before_a_bad_line_are_kept_and_counted(monitor: Command, tmp_path: Path, bad: str) -> None:
    x, state = feed(60), str(tmp_path / "state.npz")
    done = monitor(csv(x[:40]) + f"{bad}\n" + csv(x[40:]), "--state", state)
    assert done.exit_code == 2
    assert done.stderr.startswith("steinball: 40 rows so far, ")
    assert "steinball: error: line " in done.stderr
    kept = sb.Monitor.load(state, sb.models.Gaussian())
    assert kept.n == 40
    assert (monitor(csv(x[40:]), "--state", state).stderr).startswith("steinball: 60 rows so far")


def test_a_state_that_is_not_that_of_this_monitor_is_refused_and_stays(monitor: Command, tmp_path: Path) -> None:
    x, state = csv(feed(60)), tmp_path / "state.npz"
    monitor(x, "--state", str(state))
    before = state.read_bytes()
    for words, message in (
        (("--model", "normal:mean=1"), "`model` is not the one"),
        (("--contamination", "4%"), "`--contamination 0.05 --expected-run 500`, got 0.04 and 500"),
        (("--expected-run", "501"), "got 0.05 and 501"),
    ):
        done = monitor(x, "--state", str(state), *words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr
    two = monitor(csv(feed(60, 2)), "--state", str(state))
    assert two.exit_code == 2
    assert "columns" in two.stderr or "`model` is not the one" in two.stderr
    assert state.read_bytes() == before


def test_a_truncated_state_is_refused_and_stays(monitor: Command, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    monitor(csv(feed(60)), "--state", str(state))
    cut = state.read_bytes()[:-50]
    state.write_bytes(cut)
    done = monitor(csv(feed(60)), "--state", str(state))
    assert done.exit_code == 2
    assert "is not a saved Monitor, or is truncated" in done.stderr
    assert state.read_bytes() == cut


def test_two_monitors_do_not_write_one_state(monitor: Command, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    with only_writer(state):
        done = monitor(csv(feed(20)), "--state", str(state))
    assert (done.exit_code, state.exists()) == (2, False)
    assert "another process is writing" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--contamination", "500%"), "argument --contamination: must be a share"),
        (("--expected-run", "many"), "argument --expected-run: invalid float value: 'many'"),
        (("--expected-run", "1"), "`expected_run` must be a finite number in (1, inf), got 1"),
        (("--again",), "give `--state FILE.npz`"),
        (("--plot", "x.gif"), "must end in .png"),
        (("--data", "none.csv"), "none.csv: No such file"),
        (("--model", "rbm"), "needs `"),
        (("--missing", "keep"), "`--missing` must be error or drop"),
    ],
)
def test_wrong_options_are_refused(monitor: Command, words: tuple[str, ...], message: str) -> None:
    done = monitor("x\n1\n2\n", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_the_model_and_the_share_have_no_default(command: Command) -> None:
    assert "give `--model`" in command("monitor", "--contamination", "5%").stderr
    assert "give `--contamination`" in command("monitor", "--model", "normal").stderr


def test_a_model_of_ones_own_may_print(monitor: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from scipy.special import ndtr\nclass Mine:\n    dimension = 1\n    def to_base(self, x):\n"
        "        print('hello')\n        return x\nmodel = Mine()\n"
    )
    done = monitor(csv(feed()), "--model", f"{tmp_path / 'mine.py'}:model")
    assert done.exit_code == 1
    assert len(alarms_of(done)) > 0


def test_the_picture_is_written_at_the_end(monitor: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monitor(csv(feed()), "--plot", str(tmp_path / "evidence.png"))
    assert (tmp_path / "evidence.png").stat().st_size > 5000


def test_a_killed_process_goes_on_and_loses_no_alarm(tmp_path: Path) -> None:
    x, state = feed(600), tmp_path / "state.npz"
    program = [sys.executable, "-m", "steinball_command", "monitor", *WORDS, "--state", str(state)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(program, bufsize=0, **pipes)  # no line may wait in a buffer of ours
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(csv(x[:450]).encode())
    first = json.loads(process.stdout.readline())  # the process has taken in rows, and its input is still open
    while not state.exists():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    told = [first, *(json.loads(line) for line in process.communicate()[0].splitlines())]
    seen = sb.Monitor.load(state, sb.models.Gaussian()).n
    assert 2 <= seen <= 450
    done = subprocess.run([*program, "--again"], input=csv(x).encode(), capture_output=True, check=False)
    told += [json.loads(line) for line in done.stdout.splitlines()]
    whole = sb.Monitor(sb.models.Gaussian(), 0.05, 500).update(x)
    assert sorted({alarm["row"] for alarm in told}) == [alarm.row for alarm in whole]
