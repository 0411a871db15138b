"""The program that runs bundles, in a process of its own: a bundle may come from anybody.

``python -m tb_debugger_plugin.replay.program TASK RESULT``, two files in JSON: the bundle and how to run it;
what came of it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

# Before TensorFlow is imported: its own messages would stand among ours.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from tb_debugger_plugin.errors import FormatError, user_message
from tb_debugger_plugin.events.bundle import Bundle, read_bundle
from tb_debugger_plugin.replay.call import Outcome, Variant, run
from tb_debugger_plugin.replay.script import script_of


def main(task: str, result: str) -> None:
    """Do what a task says.

    Args:
      task: The file of the task: `bundle`, `variants`, and `script` or None.
      result: The file to write: `outcomes`, one for each variant, and `refused`, which says why a bundle does
        not run at all.
    """
    wanted = json.loads(Path(task).read_text("utf-8"))
    outcomes: list[Outcome] = []
    refused = ""
    try:
        bundle = read_bundle(Path(wanted["bundle"]))
        for facts in wanted["variants"]:
            outcomes.append(_outcome(bundle, Variant(**facts)))
        if wanted["script"]:
            script_of(bundle, Path(wanted["script"]))
    except (FormatError, OSError) as error:
        refused = str(error)
    answer = {"refused": refused, "outcomes": [asdict(one) for one in outcomes]}
    Path(result).write_text(json.dumps(answer), "utf-8")


def _outcome(bundle: Bundle, variant: Variant) -> Outcome:
    try:
        return run(bundle, variant)
    except FormatError:
        raise
    except Exception as error:  # a bundle may hold anything
        return Outcome(error=user_message(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
