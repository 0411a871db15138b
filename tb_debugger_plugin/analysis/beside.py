"""The files of the user beside a run: where they are, how one is written, the note on the run, and trials.

The note is a file in the folder of the run, such as ``tbdbg_note.3f2a9c01.md``. Several runs may share a
folder, so the name has a hash of the id of the run. It is no part of the cache: neither eviction nor
``tbdbg clean`` deletes it. What a replay of a kept call has tried is in a file beside the call.

Invariant: reading a file never waits, never follows a link, and never fails; it reads a bounded number of
bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import ForbiddenError, UsageError
from tb_debugger_plugin.events.bundle import parse_name
from tb_debugger_plugin.index.runs import FoundRun

#: Characters of a note.
MAX_NOTE: Final = 10_000
#: Bytes that they take at most.
_MAX_BYTES: Final = 4 * MAX_NOTE
#: What the name of a file ends in that says what was tried with a call.
_TRIAL: Final = ".tried"
_MAX_TRIALS: Final = 100
_MAX_WORDS: Final = 1000
_ELSEWHERE: Final = "The run is not on this machine, so nothing is written beside it."


def folders_of(run: FoundRun) -> list[Path]:
    """Return the folder of a run and those above it up to the logdir; none if they are remote."""
    if not isinstance(run.folder, Path):
        return []
    depth = len([part for part in run.name.split(" (")[0].split("/") if part not in ("", ".")])
    return [run.folder, *list(run.folder.parents)[:depth]]


def own_folder(run: FoundRun) -> Path:
    """Return the folder of a run, to write a file of the user into it.

    Raises:
      ForbiddenError: It is not on this machine.
    """
    if not isinstance(run.folder, Path):
        raise ForbiddenError(_ELSEWHERE)
    return run.folder


def replace_file(path: Path, text: str) -> None:
    """Write a file as a whole, so that nobody reads half of it.

    Raises:
      OSError: The folder cannot be written to.
    """
    # A new file with a name that nobody can have prepared; the folder may belong to others, too.
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, prefix=".tbdbg", delete=False
    ) as new:
        try:
            new.write(text)
            new.flush()
            os.chmod(new.name, 0o644)
            os.replace(new.name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(new.name)
            raise


def note_name(run: FoundRun) -> str:
    """Return the name of the file with the note on a run."""
    return f"tbdbg_note.{hashlib.sha256(run.run_id.encode('utf-8', 'replace')).hexdigest()[:8]}.md"


def read_note(run: FoundRun) -> str:
    """Return the note on a run; empty if there is none, or if the run is not on this machine."""
    if not isinstance(run.folder, Path):
        return ""
    try:
        content = _content(run.folder / note_name(run))
    except OSError:
        return ""
    return content.decode("utf-8", "replace")[:MAX_NOTE].strip()


def kept_calls(run: FoundRun) -> list[Path]:
    """Return the files of the bad calls that GUARD has kept; none if the run is not on this machine."""
    return _about_calls(run, "")


def trial_files(run: FoundRun) -> list[Path]:
    """Return the files that say what was tried with kept calls; none if the run is not on this machine."""
    return _about_calls(run, _TRIAL)[:_MAX_TRIALS]


def _about_calls(run: FoundRun, ending: str) -> list[Path]:
    """Return the files of kept calls, or those with an ending beside them, process by process."""
    if not isinstance(run.folder, Path):
        return []
    found = []
    order = {files.prefix: position for position, files in enumerate(run.file_sets)}
    # Each folder is listed once: it may have files of many processes, and pages ask often.
    for folder in {str(files.folder) for files in run.file_sets}:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                parsed = parse_name(name)
                if parsed is not None and parsed[0] in order and parsed[2] == ending:
                    found.append((order[parsed[0]], parsed[1], Path(folder, name)))
    return [path for _, _, path in sorted(found)]


def keep_trial(bundle: Path, op_name: str, words: str) -> None:
    """Write what was tried at an op beside the kept call with which it was tried.

    Args:
      bundle: The file of the call.
      op_name: The op.
      words: A sentence on what came of it.

    Raises:
      OSError: The folder cannot be written to.
    """
    replace_file(bundle.with_name(bundle.name + _TRIAL), json.dumps({"op": op_name, "words": words}))


def read_trials(run: FoundRun) -> dict[str, str]:
    """Return what was tried with the kept calls of a run, in words, by the names of ops."""
    found: dict[str, str] = {}
    for path in trial_files(run):
        found.update(_trial(path))
    return found


def _trial(path: Path) -> dict[str, str]:
    try:
        facts = json.loads(_content(path))
        op, words = facts["op"], facts["words"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {op: words[:_MAX_WORDS]} if isinstance(op, str) and isinstance(words, str) else {}


def _content(path: Path) -> bytes:
    # The folder may come from somebody else: a pipe would be waited for, and a link leads anywhere.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:
        return file.read(_MAX_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""


def keep_note(run: FoundRun, note: str, instead_of: str | None = None) -> str:
    """Write the note on a run, and return the name of its file; an empty note deletes the file.

    Args:
      run: The run.
      note: The note.
      instead_of: The note that the writer has seen; None = whichever there is.

    Raises:
      UsageError: The note is too long, is not Unicode, or there is another one than the writer has seen.
      ForbiddenError: The run is not on this machine.
      OSError: The folder cannot be written to.
    """
    path = own_folder(run) / note_name(run)
    text = note.replace("\r\n", "\n").strip()
    if len(text) > MAX_NOTE:
        raise UsageError(f"A note has at most {MAX_NOTE:,} characters.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("The note is not Unicode.") from None
    if instead_of is not None and instead_of != (found := read_note(run)):
        now = f"It says now: {found}" if found else "There is none now."
        raise UsageError(f"The note was changed since this page read it, so nothing is saved yet. {now}")
    if text:
        replace_file(path, f"{text}\n")
    else:
        path.unlink(missing_ok=True)
    return path.name
