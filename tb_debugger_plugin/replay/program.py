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

from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.bundle import read_bundle
from tb_debugger_plugin.replay.call import Outcome, Variant, run
from tb_debugger_plugin.replay.script import script_of


def main(task: str, result: str) -> None:
    """Do what a task says.

    Args:
      task: The file of the task: `bundle`, `variants`, and `script` or None.
      result: The file to write.
    """
    wanted = json.loads(Path(task).read_text("utf-8"))
    bundle = read_bundle(Path(wanted["bundle"]))
    outcomes = []
    for facts in wanted["variants"]:
        try:
            outcomes.append(run(bundle, Variant(**facts)))
        except Exception as error:  # a bundle may hold anything
            outcomes.append(Outcome(error=user_message(error)))
    if wanted["script"]:
        script_of(bundle, Path(wanted["script"]))
    Path(result).write_text(json.dumps([asdict(one) for one in outcomes]), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
