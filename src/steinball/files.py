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

_NO_LINK = os.O_NOFOLLOW if fcntl is not None else 0


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

    Until then it has a random name beside ``path``, at which nothing was before: no link is followed, and no file of
    somebody else is touched. Of several writers the last one wins. A process that is killed may leave its part behind.
    """
    path = Path(os.path.realpath(path))  # the file that a link points to, not the link
    part = path.with_name(f"{path.name[:40]}.{os.urandom(8).hex()}.part")
    file = None
    try:
        with part.open("x+b") as file:  # a name at which something is, also a link, is an error
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        if file is not None:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(part)):  # a full disk names no file
            error.filename = str(path)  # the name that users know
        raise
    with suppress(OSError):  # the new name on the disk, too; where folders cannot be synchronized the system sees to it
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def only_writer(path: Any) -> Iterator[None]:
    """Hold a lock on ``path`` that ends with this process at the latest; refuse where another one holds it."""
    lock = Path(path).with_name(Path(path).name + ".lock")
    with _opened_alone(lock, str(path)) as file:
        try:
            yield
        finally:
            if not os.fstat(file.fileno()).st_size:  # a file with content is not ours
                lock.unlink(missing_ok=True)


def _opened_alone(lock: Path, path: str) -> BinaryIO:
    """The lock, created if need be, once this process alone holds it."""
    while True:
        file = os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666), "r+b")
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing this file", path) from None
        except OSError:  # some network file systems have no locks
            pass
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                return file
        file.close()  # whoever held it before has removed it
