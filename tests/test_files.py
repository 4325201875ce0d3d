"""Files that are promises: killed at any moment, on a full disk, with several writers."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steinball.files import only_writer, whole_file, write_whole

pytestmark = pytest.mark.exact

OLD, NEW = b"old\n" * 1000, b"new\n" * 100_000

# A process that writes a file and is killed, as by kill -9, at one step of it.
KILLED = """
import os, signal, sys
from pathlib import Path
from steinball import files
path, step = Path(sys.argv[1]), sys.argv[2]
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
replace = os.replace
if step == "opened":
    files._lies_at = die
if step == "written":
    os.fsync = die
if step == "synchronized":
    os.replace = die
if step == "replaced":
    os.replace = lambda *names: (replace(*names), die())
with files.whole_file(path) as file:
    file.write(b"new\\n" * 50_000)
    file.flush()
    if step == "half":
        die()
    file.write(b"new\\n" * 50_000)
"""


@pytest.mark.parametrize("step", ["opened", "half", "written", "synchronized", "replaced"])
def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path, step: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == (NEW if step == "replaced" else OLD)
    write_whole(path, b"next")  # whoever comes next is not in the way of what was left
    assert path.read_bytes() == b"next"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("folder" if os.path.samestat(os.fstat(descriptor), tmp_path.stat()) else "file")
        fsync(descriptor)

    def note_replace(*names: Any) -> None:
        steps.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_whole(tmp_path / "file", NEW)
    assert steps == ["file", "name", "folder"]


def write(path: Path, last: Callable[[], object]) -> None:
    """A file whose writer does something last."""
    with whole_file(path) as file:
        file.write(NEW)
        last()


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_a_full_disk_leaves_the_old_file_alone_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    path.write_bytes(OLD)
    if step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as failed:
        write(path, full if step == "write" else list)
    assert failed.value.filename == str(path)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_of_the_writer_leaves_nothing_behind(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "file", stop)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(OLD)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == NEW


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    """Eight threads, each a writer of a byte of its own: whichever comes last, the file is all its own."""
    path = tmp_path / "file"
    writers = [threading.Thread(target=write_whole, args=(path, bytes([k]) * 10**6)) for k in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    content = path.read_bytes()
    assert len(content) == 10**6
    assert len(set(content)) == 1
    assert list(tmp_path.iterdir()) == [path]


HOLDING = """
import sys
from steinball.files import only_writer
with only_writer(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """Another process that holds a file until it is told to go, or killed."""
    command = [sys.executable, "-c", HOLDING, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("killed", [False, True])
def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path, killed: bool) -> None:
    path = tmp_path / "table.csv"
    with holder(path) as process:
        with (
            pytest.raises(BlockingIOError, match=r"another process is writing this file: .*table\.csv"),
            only_writer(path),
        ):
            pytest.fail("two writers at a time")
        if killed:
            process.kill()
        process.communicate("")
    with only_writer(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with only_writer(tmp_path / "file"):
        write_whole(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == NEW
