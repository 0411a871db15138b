"""The route that runs a bad call again that GUARD has kept, as `tbdbg replay` does.

Invariant: the viewer has no TensorFlow. The command runs in a process of its own, one at a time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Final

from tb_debugger_plugin.analysis.beside import kept_calls
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.errors import BadQueryError, NotFoundError, NotReadyError
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.viewer import Viewer

_COMMAND: Final = "tb_debugger_plugin.cli.main"
_SECONDS: Final = 300
#: The command ends its own process, which runs the call, before it is ended here.
_OPTIONS: Final = ("--timeout", str(_SECONDS - 60))
_turn: Final = threading.Lock()


def replay(viewer: Viewer, body: object) -> Json:
    """Run the first kept call of a run again."""
    if not isinstance(body, dict) or set(body) != {"run"} or not isinstance(body["run"], str):
        raise BadQueryError("The body must be an object with the text run.")
    # As a query, whose texts have a largest length.
    run = viewer.run_library.found(Query(body).text("run"))
    kept = kept_calls(run)
    if not kept:
        raise NotFoundError("The run has no calls that can run again. GUARD keeps those that go bad.")
    if not _turn.acquire(blocking=False):
        raise NotReadyError("A call is being run again; try it when that has ended.")
    try:
        done = subprocess.run(
            [sys.executable, "-m", _COMMAND, "replay", str(kept[0]), "--json", *_OPTIONS],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotReadyError(f"The call has not ended after {_SECONDS} seconds.") from None
    finally:
        _turn.release()
    try:
        tried = json.loads(done.stdout)["tried"]
    except (ValueError, KeyError):
        said = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise NotReadyError(f"The call did not run again: {said[-1].removeprefix('tbdbg: ')[:500]}") from None
    return {"tried": [one["words"] for one in tried]}
