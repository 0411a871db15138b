"""Names the type of op whose gradient an op is part of, by the function of TensorFlow's that made it.

Takes a stack. Gradients are computed in functions that are named after the forward type: ``_QrGrad`` in
``linalg_grad.py`` calls whatever it needs, and everything that it calls has it in its stack.
"""

from __future__ import annotations

import re
from typing import Final

from tb_debugger_plugin.analysis.snapshot import Snapshot

_FUNCTION: Final = re.compile(r"_(\w+?)Grad(V\d+|WithNoAxis)?$")
_FILE: Final = re.compile(r"(_grad|backprop)\.py$")


def differentiated_type(snapshot: Snapshot, stack: int) -> str | None:
    """Return the forward type, such as ``Log`` for ``_LogGrad``; None where no such function is known."""
    rows = snapshot.rows(
        "SELECT r.function, f.path FROM stacks s"
        " JOIN frames r ON (r.host, r.frame_id) = (s.host, s.frame_id)"
        " JOIN sources f ON (f.host, f.file_index) = (r.host, r.file_index)"
        " WHERE s.stack = ? ORDER BY s.depth DESC",
        [stack],
    )
    for function, path in rows:
        match = _FUNCTION.match(function or "")
        if match and _FILE.search(path or ""):
            return match[1]
    return None
