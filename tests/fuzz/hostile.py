"""Makes records whose fields hold any values that their types allow.

Takes a random generator and returns ``DebugEvent`` messages. Fields are filled according to their types, so a
new field of the format is filled too. Names and ids come from small sets, so that records refer to each
other, also in circles.
"""

from __future__ import annotations

import math
import random
from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tb_debugger_plugin.events import fileset
from tb_debugger_plugin.events.messages import DebugEvent

#: Names that could be harmful if they are not treated as plain text.
TEXTS: Final = (
    *("", " ", "x", "Log", "../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "C:\\nul", "~root"),
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;", "javascript:alert(1)", "]]>"),
    *("a\0b", "\x1b[2J\x1b]0;title\7", "\r\nSet-Cookie: a=b", "\u202egnp.exe", "\ufeff", "\uffff", "e\u0301"),
    *("'; DROP TABLE traces; --", '"', "'", "%s%n", "{0}", "$(reboot)", "`", "\\", "?", "*", "[", "(a+)+$"),
    *("nan", "null", "-1", "0x10", "1e999", "NaN:0", "a:b:c", ":", ":0", "😀" * 9, "x" * 70_000, "\n" * 3000),
)
_NAMES: Final = ("x", "Log", "mul", "a/while", "a_while_body_1", "a_while_cond_2", "if_true_3", "call")
_FUNCTIONS: Final = (
    *("f", "__inference_f_1", "__forward_f_2", "__backward_f_3", "a_while_body_1", "a_while_cond_2"),
    *("a_while_body_4", "if_true_3", "if_false_5", ""),
)
_OP_TYPES: Final = (
    *("Log", "Placeholder", "_Arg", "PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile"),
    *("If", "Case", "SymbolicGradient", "f", "__inference_f_1", ""),
)
_IDS: Final = ("", "g0", "g1", "g2", "f1", "f2", "absent", "g1\0", "../g")
_POOLS: Final = {
    **dict.fromkeys(("graph_id", "outer_context_id", "tfdbg_context_id", "id", "stack_frame_ids"), _IDS),
    "tfdbg_run_id": ("", "run1", "run1", "run2"),
    "op_name": _NAMES,
    "graph_name": _FUNCTIONS,
    "op_type": _OP_TYPES,
}
_INTEGERS: Final = (0, 1, 2, 3, 7, 10, -1, 255, 256, 32_768, 2**31 - 1, -(2**31))
_LONG_INTEGERS: Final = (*_INTEGERS, 2**32, 2**53, 2**63 - 1, -(2**63))
_FLOATS: Final = (0.0, -0.0, 1.0, 1000.5, 1000.6, -1.0, 1e-320, 1e308, -1e308, math.inf, -math.inf, math.nan)
_DTYPES: Final = (0, 1, 2, 2, 2, 3, 7, 9, 10, 14, 19, 20, 101, 255, -1, 2**31 - 1)
_MAX_DEPTH: Final = 4

_KINDS: Final = {
    fileset.METADATA: ("debug_metadata",),
    fileset.SOURCE_FILES: ("source_file",),
    fileset.STACK_FRAMES: ("stack_frame_with_id",),
    fileset.GRAPHS: (
        *("debugged_graph", "graph_op_creation", "graph_op_creation", "debugged_device"),
        *("op_attributes", "debugged_thread", "session_request"),
    ),
    fileset.SESSION_RUNS: ("session_run", "session_run", "op_times"),
    fileset.EXECUTION: ("execution",),
    fileset.GRAPH_EXECUTION_TRACES: ("graph_execution_trace",),
}


def hostile_event(rng: random.Random, suffix: str) -> Message:
    """Makes a record for a file. In one of twenty cases its kind is random and may not belong there."""
    kinds = _KINDS[suffix]
    every = [field.name for field in DebugEvent.DESCRIPTOR.oneofs_by_name["what"].fields]
    kind = rng.choice(kinds if rng.random() < 0.95 else every)
    event = DebugEvent(wall_time=rng.choice(_FLOATS))
    value = getattr(event, kind)
    if isinstance(value, str):
        event.graph_id = rng.choice(_IDS)
    else:
        value.SetInParent()
        fill(rng, value)
    return event


def fill(rng: random.Random, message: Message, depth: int = 0) -> None:
    """Fill most fields of a message."""
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.25 or (field.message_type and depth >= _MAX_DEPTH):
            continue
        if isinstance(getattr(message, field.name), (str, bytes, int, float)):
            setattr(message, field.name, _value(rng, field))
        elif field.message_type is None:
            values = [_value(rng, field) for _ in range(_count(rng))]
            getattr(message, field.name).extend(values)
        elif _is_repeated(message, field):
            for _ in range(_count(rng)):
                fill(rng, getattr(message, field.name).add(), depth + 1)
        else:
            getattr(message, field.name).SetInParent()
            fill(rng, getattr(message, field.name), depth + 1)


def _is_repeated(message: Message, field: FieldDescriptor) -> bool:
    return hasattr(getattr(message, field.name), "add")


def _count(rng: random.Random) -> int:
    return rng.choice((0, 1, 1, 2, 3, 5, 11)) if rng.random() < 0.995 else 300


def _value(rng: random.Random, field: FieldDescriptor) -> str | bytes | float:
    kind = field.cpp_type
    if field.name == "tensor_content":
        return _content(rng)
    if field.name == "dtype":
        return rng.choice(_DTYPES)
    if field.name == "input_names":
        return rng.choice(_NAMES) + rng.choice(("", ":0", ":1", ":-1", ":", ":99999999999", ":٣", ":0:1"))
    if kind == FieldDescriptor.CPPTYPE_STRING:
        pool = _POOLS.get(field.name, TEXTS)
        text = rng.choice(pool if rng.random() < 0.9 else TEXTS)
        return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return rng.choice((*range(9), 4, 4, 9, 200, -1))
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return rng.choice(_FLOATS)
    if kind == FieldDescriptor.CPPTYPE_INT64:
        return rng.choice(_LONG_INTEGERS)
    if kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64):
        return abs(rng.choice(_INTEGERS))
    return rng.choice(_INTEGERS)


def _content(rng: random.Random) -> bytes:
    # The length is that of a mode's summary, or any length.
    size = rng.choice((2, 3, 5, 10, 11, 15)) * 8 if rng.random() < 0.8 else rng.randrange(99)
    return rng.randbytes(size) if rng.random() < 0.5 else bytes(size)
