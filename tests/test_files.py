"""Files that are promises: killed at any moment, on a full disk, with several writers."""

from __future__ import annotations

import errno
import os
import re
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


@pytest.mark.parametrize("step", ["half", "written", "synchronized", "replaced"])
def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path, step: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == (NEW if step == "replaced" else OLD)
    write_whole(path, b"next")  # what was left is in nobody's way
    assert path.read_bytes() == b"next"
    left = [other.name for other in tmp_path.iterdir() if other != path]
    assert len(left) == (step != "replaced")
    assert all(re.fullmatch(r"file\.[0-9a-f]{16}\.part", name) for name in left)


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


def test_files_and_links_beside_it_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody has guessed the random name: the link is not followed, and the file not overwritten."""
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(OLD)
    (tmp_path / "file.part").symlink_to(victim)
    (tmp_path / "other.part").write_bytes(b"mine")
    write_whole(path, NEW)
    write_whole(tmp_path / "other", NEW)
    assert (path.read_bytes(), victim.read_bytes(), (tmp_path / "other.part").read_bytes()) == (NEW, OLD, b"mine")
    monkeypatch.setattr(os, "urandom", bytes)
    guessed = tmp_path / f"file.{'0' * 16}.part"
    for make in (lambda: guessed.symlink_to(victim), lambda: guessed.write_bytes(OLD)):
        make()
        with pytest.raises(FileExistsError):
            write_whole(path, b"next")
        assert (path.read_bytes(), victim.read_bytes(), guessed.read_bytes()) == (NEW, OLD, OLD)
        guessed.unlink()


def test_a_lock_that_is_a_link_or_somebodys_file_is_left_alone(tmp_path: Path) -> None:
    victim, lock = tmp_path / "victim", tmp_path / "table.csv.lock"
    lock.symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"), only_writer(tmp_path / "table.csv"):
        pytest.fail("a link was followed")
    assert lock.is_symlink()
    assert not victim.exists()
    lock.unlink()
    lock.write_bytes(b"mine")
    with only_writer(tmp_path / "table.csv"):
        pass
    assert lock.read_bytes() == b"mine"


def test_a_name_may_be_as_long_as_the_system_allows_and_has_the_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 125)
    before = os.umask(0o027)
    try:
        write_whole(path, NEW)
    finally:
        os.umask(before)
    assert path.read_bytes() == NEW
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_not_there_is_an_error_with_the_name_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as failed:
        write_whole(tmp_path / "nowhere" / "file", NEW)
    assert failed.value.filename == str(tmp_path / "nowhere" / "file")


def test_of_several_writers_one_wins_whole(tmp_path: Path) -> None:
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
