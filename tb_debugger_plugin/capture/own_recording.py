"""Reads the recording that this process makes: to explain a bad value, and to ask alert rules.

Invariant: these are the only imports of `reading` in the recorder, each inside a function. A program whose
recording needs no answer imports nothing of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from tb_debugger_plugin.capture.alarm import BadValue, Broken, Explanation
from tb_debugger_plugin.capture.options import Options

_log = logging.getLogger("tb_debugger_plugin")


class Rules(Protocol):
    """Alert rules that are asked of a recording; see `tb_debugger_plugin.reading.rules_of_recording`."""

    def read(self, seconds: float) -> bool:
        """Read what is in the files; returns whether it was done within some seconds."""

    def ask(self) -> Sequence[Broken]:
        """Return what has broken a rule since the last question, the most urgent first."""

    def unanswered(self) -> list[str]:
        """Return a sentence for each named rule that cannot be answered."""

    def close(self) -> None:
        """Let go of the files."""


def reason_of(bad: BadValue, *, is_temporary: bool) -> Explanation | None:
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
