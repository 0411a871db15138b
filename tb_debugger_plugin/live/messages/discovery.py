"""The file by which a debugger finds a program that can be stopped.

A program leaves it in its dump root while breakpoints are enabled: where it listens, and the secret that each
call must carry. So only who can read the file can talk to the program.

Invariants: nobody but the user of the program can read the file at any time. It appears as a whole. A reader
takes a file only if it belongs to the reader's user and nobody else can read it; anything odd is left out
with a reason, and nothing of it is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.live.messages.own_files import own_bytes

T = TypeVar("T")
Kinds: TypeAlias = type[T] | tuple[type[T], ...]
#: The metadata of each call that carries the secret.
SECRET_KEY: Final = "tb-debugger-secret"
#: Format of the file. A reader leaves other versions out.
VERSION: Final = 1
#: Largest file that is read, in bytes.
_MAX_BYTES: Final = 1 << 16
#: Most files of a folder that are read.
_MAX_FILES: Final = 1000
_PREFIX: Final = "tb_debugger_live"
_NAME: Final = re.compile(rf"^{_PREFIX}\.(?P<host>.+)\.(?P<pid>\d{{1,10}})\.json$", re.DOTALL)
_ADDRESS: Final = re.compile(r"^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(?P<port>\d{1,5})$")
_SECRET: Final = re.compile(r"^[A-Za-z0-9_-]{32,128}$")
#: Arguments and characters of each that are kept of a command line.
_MOST_ARGUMENTS, _MOST_CHARACTERS = 100, 200


@dataclass(frozen=True)
class LiveProgram:
    """A program that can be stopped.

    Attributes:
      address: Where it listens: `host:port`.
      secret: What each call must carry. It is in no text of this object.
      pid: Its process.
      host: Its host.
      program: Its command line.
      started: When breakpoints were enabled, in seconds since the epoch.
      files: Prefix of the names of its event files.
      version: Format of the file.
    """

    address: str
    secret: str = field(repr=False)
    pid: int
    host: str
    program: tuple[str, ...]
    started: float
    files: str
    version: int = VERSION

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"{_PREFIX}.{self.host}.{self.pid}.json"

    @property
    def has_ended(self) -> bool:
        """Whether its process is known to have ended, so that the file is a leftover."""
        return self.host == this_host() and not _is_running(self.pid)


@dataclass(frozen=True)
class LiveFile:
    """A file that may be of a program.

    Attributes:
      path: The file.
      program: The program; None if the file cannot be used.
      problem: Why it cannot be used, in one sentence; or empty.
    """

    path: Path
    program: LiveProgram | None
    problem: str = ""


def this_host() -> str:
    """Return the name of this host, as files have it."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", socket.gethostname())[:200] or "localhost"


def new_secret() -> str:
    """Return a secret that nobody can guess."""
    return secrets.token_urlsafe(32)


def is_live_file(name: str) -> bool:
    """Whether a file has the name of such a file.

    Args:
      name: Its name without the folder.
    """
    return _NAME.match(name) is not None


def shortened(command_line: list[str]) -> tuple[str, ...]:
    """Return a command line as it is written into the file: without what would make it too large."""
    return tuple(argument[:_MOST_CHARACTERS] for argument in command_line[:_MOST_ARGUMENTS])


# Writing.


def write(folder: Path, program: LiveProgram) -> Path:
    """Write the file of a program, and remove those of programs of this host that have ended.

    Args:
      folder: The dump root.
      program: The program.

    Returns:
      The file.

    Raises:
      OSError: It cannot be written.
    """
    remove_leftovers(folder)
    path = folder / program.name
    unfinished = folder / f".{program.name}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(unfinished, flags, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)  # whatever the umask is
            json.dump(asdict(program), file)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    return path


def remove(path: Path, program: LiveProgram) -> None:
    """Remove the file of a program, unless it has become another program's.

    Args:
      path: The file.
      program: The program.
    """
    with contextlib.suppress(OSError):
        if read(path).program == program:
            path.unlink()


def remove_leftovers(folder: Path) -> None:
    """Remove the files of programs of this host and user that were killed.

    Args:
      folder: A dump root.
    """
    for file in find(folder):
        if file.program is not None and file.program.has_ended:
            remove(file.path, file.program)


# Reading.


def find(folder: Path) -> list[LiveFile]:
    """Read all such files of a folder, not of folders below it, in the order of their names.

    Args:
      folder: A dump root. One that cannot be read has none.
    """
    return [read(path) for path in sorted(_candidates(folder))]


def _candidates(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        names = (entry.name for entry in entries if is_live_file(entry.name))
        for _, name in zip(range(_MAX_FILES), names, strict=False):
            yield folder / name


def read(path: Path) -> LiveFile:
    """Read one such file.

    Args:
      path: The file.
    """
    try:
        program = _parse(own_bytes(path, _MAX_BYTES, is_private=True))
        if program.name != path.name:
            raise FormatError("Its name and its content are of different programs.")
    except FormatError as error:
        return LiveFile(path, None, str(error))
    except OSError as error:
        return LiveFile(path, None, f"It cannot be read: {error.strerror or error}.")
    return LiveFile(path, program)


def _parse(content: bytes) -> LiveProgram:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        raise FormatError("It holds no JSON.") from None
    if not isinstance(fields, dict):
        raise FormatError("It holds no JSON object.")
    version = fields.get("version")
    if type(version) is not int or version != VERSION:
        raise FormatError(f"Its format is not version {VERSION}: another version of this package wrote it.")
    program = _checked(fields, "program", list, _is_command_line)
    return LiveProgram(
        address=_checked(fields, "address", str, _is_address),
        secret=_checked(fields, "secret", str, lambda text: _SECRET.fullmatch(text) is not None),
        pid=_checked(fields, "pid", int, lambda number: 0 < number < 1 << 31),
        host=_checked(fields, "host", str, lambda text: _is_text(text) and "/" not in text),
        program=tuple(program),
        started=float(_checked(fields, "started", (int, float), _is_time)),
        files=_checked(fields, "files", str, lambda text: _is_text(text) and "/" not in text),
    )


def _checked(fields: dict[str, object], name: str, kind: Kinds[T], is_right: Callable[[T], bool]) -> T:
    value = fields.get(name)
    if not isinstance(value, kind) or isinstance(value, bool) or not is_right(value):
        raise FormatError(f"Its field {name} is missing or wrong.")
    return value


def _is_address(text: str) -> bool:
    match = _ADDRESS.fullmatch(text)
    return match is not None and 0 < int(match["port"]) < 1 << 16


def _is_text(text: object) -> bool:
    return isinstance(text, str) and len(text) <= 1000 and "\0" not in text


def _is_command_line(arguments: list[object]) -> bool:
    return len(arguments) <= _MOST_ARGUMENTS and all(map(_is_text, arguments))


def _is_time(number: float) -> bool:
    return 0 <= number < 1e12


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user
    return True
