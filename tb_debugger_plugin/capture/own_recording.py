"""Reads the recording that this process makes: to explain bad values, and to ask alert rules.

Invariant: these are the only imports of `reading` in the recorder, each inside a function. A program whose
recording needs no answer imports nothing of it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import tb_debugger_plugin
from tb_debugger_plugin.capture.alarm import BadValue, BadValueReason, Broken
from tb_debugger_plugin.capture.options import Options, is_remote

#: How many seconds the end of a recording waits for the first cause of its bad values. It asks only for as
#: many bytes of files as can be explained with 200 MB of memory, and by most machines within these seconds.
ANSWER_SECONDS = 2.0
ANSWER_BYTES = 12 << 20
_ANSWERING: Final = "tb_debugger_plugin.reading.bad_value"

_log = logging.getLogger("tb_debugger_plugin")


def verdict(dump_root: str, files: str) -> tuple[str, str] | None:
    """Ask what `tbdbg why` says, in a process of its own: this one keeps its memory, and can stop waiting.

    Args:
      dump_root: The folder of the recording, which has ended.
      files: The beginning of the names of its files.

    Returns:
      The kind of the verdict on the values, and its headline, such as "First bad value: Log in cross_entropy,
      train.py:68". None if the answer takes too long, or the recording is too large for one.
    """
    if is_remote(dump_root) or not files or not sys.executable:
        return None
    own = (path for path in Path(dump_root).iterdir() if path.name.startswith(files))
    if sum(path.stat().st_size for path in own) > ANSWER_BYTES:
        return None
    package = str(Path(tb_debugger_plugin.__file__).parents[1])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", _ANSWERING, dump_root, files],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_SECONDS,
            check=True,
            # The program's Ctrl-C is not for it.
            start_new_session=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        _log.debug("The first bad value is not explained:", exc_info=error)
        return None
    answer: dict[str, str] = json.loads(done.stdout)
    return answer["kind"], answer["headline"]


class Rules(Protocol):
    """Alert rules that are asked of a recording; see `tb_debugger_plugin.reading.rules_of_recording`."""

    def read(self, seconds: float) -> bool:
        """Read what is in the files; return whether it was done within some seconds."""

    def ask(self) -> Sequence[Broken]:
        """Return what has broken a rule since the last question, the most urgent first."""

    def unanswered(self) -> list[str]:
        """Return a sentence for each named rule that cannot be answered."""

    def close(self) -> None:
        """Let go of the files."""


def reason_of(bad: BadValue, *, is_temporary: bool) -> BadValueReason | None:
    """Read the recording of a bad value and explain it.

    Args:
      bad: The value. Its records must be in the files.
      is_temporary: Whether the recording is for this process only.
    """
    from tb_debugger_plugin.reading.bad_value import explain

    return explain(
        bad.dump_root,
        graph_id=bad.graph_id,
        op_name=bad.op_name,
        op_type=bad.op_type,
        is_temporary=is_temporary,
    )


def check_rules(options: Options) -> None:
    """Check the alert rules of some options, before anything is recorded.

    Raises:
      UsageError: A rule cannot be asked.
    """
    on_alert = options.on_alert
    if on_alert is None or not on_alert.rules:
        return
    from tb_debugger_plugin.reading import rules_of_recording

    left_out = rules_of_recording.check_rules(
        options.dump_root, on_alert.rules, on_alert.rules_file, options.mode
    )
    if left_out:
        _log.info("%s does not measure what these rules need: %s.", options.mode.name, ", ".join(left_out))


def rules_of(options: Options, files: str) -> Rules:
    """Open the alert rules of a recording.

    Args:
      options: Those of the recording, with rules.
      files: The beginning of the names of its files.
    """
    from tb_debugger_plugin.reading.rules_of_recording import RulesOfRecording

    on_alert = options.on_alert
    assert on_alert is not None
    return RulesOfRecording(options.dump_root, files, on_alert.rules, on_alert.rules_file, on_alert.ignores)
