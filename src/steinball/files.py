"""Files that are promises: the old content or the new one, never a part of it, and one writer at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no advisory locks
    fcntl = None  # type: ignore[assignment]


def write_whole(path: Any, content: bytes) -> None:
    """Make ``content`` the content of a file: after a crash or on a full disk the old content is still there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "stamp.json")
    ...     write_whole(path, b"{}")
    ...     path.read_bytes(), len(list(Path(folder).iterdir()))
    (b'{}', 1)
    """
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Any) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` once all of it is on the disk and vanishes after an error.

    Whoever writes the same file at the same time waits.
    """
    path = Path(os.path.realpath(path))  # the file that a link points to, not the link
    part = path.with_name(path.name + ".part")
    file = _open_alone(part)
    try:
        file.truncate()  # a process that was killed may have left something
        yield file
        file.flush()
        os.fsync(file.fileno())
        _put_in_place(file, part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)  # still locked, so it is ours
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk names no file
        raise
    finally:
        with suppress(OSError):  # what could not be written is tried once more here
            file.close()
    _sync_folder(path.parent)


@contextmanager
def only_writer(path: Any) -> Iterator[None]:
    """Hold a lock on ``path`` that ends with this process at the latest; refuse where another one holds it."""
    lock = Path(path).with_name(Path(path).name + ".lock")
    try:
        file = _open_alone(lock, wait=False)
    except BlockingIOError:
        raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing this file", str(path)) from None
    with file:
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _open_alone(path: Path, *, wait: bool = True) -> BinaryIO:
    """The file, created if need be, once this process alone holds it."""
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            _lock(file, wait)
        except BaseException:
            file.close()
            raise
        if _lies_at(file, path):
            return file
        file.close()  # whoever held it before has moved or removed it


def _lock(file: BinaryIO, wait: bool) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EINTR):
            raise
        # Some network file systems have no locks.


def _lies_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _put_in_place(file: BinaryIO, part: Path, path: Path) -> None:
    if fcntl is None:
        file.close()  # Windows moves no open file; elsewhere it stays open, for closing it would unlock it
    os.replace(part, path)


def _sync_folder(folder: Path) -> None:
    """The new name on the disk, too; where folders cannot be synchronized the system sees to it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
