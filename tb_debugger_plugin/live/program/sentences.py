"""The sentences of pauses."""

from __future__ import annotations

import os
import re
from typing import Final

from tb_debugger_plugin.events.gate_table import CannotChange
from tb_debugger_plugin.live.messages.messages import Message, Tensor
from tb_debugger_plugin.live.program.interface import CallKind, ProgramCall

CANNOT_CHANGE: Final = {
    CannotChange.CAN_CHANGE: "",
    CannotChange.BESIDE: "Ops that use the tensor do not wait for it here: set a breakpoint at it; from the"
    " next call on they do.",
    CannotChange.COALESCED: "Other tensors were computed from it already: set a breakpoint at it; from the"
    " next call on they wait.",
    CannotChange.OTHER_DEVICE: "The tensor is on another device.",
    CannotChange.COMPILED: "XLA compiled its function, which has run already.",
    CannotChange.NO_NUMBERS: "Its elements are not numbers.",
}
#: In the graph of a session, no call makes the ops wait that do not wait from the beginning.
BESIDE_IN_SESSION: Final = (
    "Ops that use the tensor do not wait for it in this session: those of a floating-point tensor do, if the "
    "session is made or wrapped before it has run."
)
NOT_ALLOWED: Final = "The program does not let debuggers change values: start it with may_change_values=True."
NO_TENSOR: Final = "The program is paused at a call, not at a tensor."


def name_of(tensor: Message) -> str:
    """Return ``Log:0 of cross_entropy, train.py:68``, as far as it is known."""
    slot = f":{tensor.slot}" if tensor.slot >= 0 else ""
    parts = [f"{tensor.op_name or tensor.op_type or 'a tensor'}{slot}"]
    owner = tensor.layer or tensor.function
    if owner:
        parts.append(f" of {owner}")
    if tensor.path:
        parts.append(f", {os.path.basename(tensor.path)}:{tensor.line}")
    return "".join(parts)


def bad_kinds(tensor: Message) -> str:
    """Return the kinds of bad values of a tensor: ``NaN and +∞``; empty if there are none."""
    numbers = {one.name: one.value for one in tensor.numbers}
    kinds = {"nan": "NaN", "ninf": "−∞", "pinf": "+∞"}
    return " and ".join(text for name, text in kinds.items() if numbers.get(name, 0) > 0)


def before_call(call: ProgramCall, why: str) -> str:
    """Return the sentence of a stop before a call."""
    return f"Paused before {_words(call)}{f': {why}' if why else ''}."


def _words(call: ProgramCall) -> str:
    """As the page names it: ``train_step (call 3)``, ``run of loss:0 (call 3)``."""
    run_of = "run of " if call.kind == CallKind.SESSION_RUN else ""
    return f"{run_of}{call.name} (call {call.number})"


_NOT_THE_REASON: Final = re.compile(r"Graph execution error:|Detected at node |  File \"|\d+ root error|\s*$")
_PLACES: Final = re.compile(r'^  File "(.+)", line (\d{1,9}), in', re.MULTILINE)
_LABELS: Final = re.compile(r"\{\{.*?\}\} ?|\s*\[\[.*|\s*\[Op:.*|^\s*\(\d+\) [\w ]+: ")


def reason_of(error: BaseException) -> str:
    """Return what an error says, in one line: of TensorFlow's errors the reason, without where it was."""
    lines = str(error).splitlines()
    says = next((line for line in lines if not _NOT_THE_REASON.match(line)), "")
    return _LABELS.sub("", says).strip()[:300]


def op_of(name: str, error: BaseException) -> Message:
    """Return an op without outputs, as far as an error of TensorFlow describes it.

    Args:
      name: Its name.
      error: The error.
    """
    places = [(path, int(line)) for path, line in _PLACES.findall(str(error))]
    path, line = places[-1] if places else ("", 0)
    return Tensor(op_name=name, slot=-1, path=path, line=line, unknown_shape=True)


def failure(error: BaseException, failed: Message | None) -> str:
    """Return a clause about an error: ``ValueError: it is negative, in Log:0 of loss, train.py:68``.

    Args:
      error: The error.
      failed: The output of the op that failed; None if it is not known.
    """
    where = "" if failed is None else f", in {name_of(failed)}"
    reason = reason_of(error)
    return f"{type(error).__name__}{f': {reason}' if reason else ''}{where}"


def before_op(op_type: str, path: str, line: int) -> str:
    """Return the sentence of a stop before the first eager op."""
    where = f", {os.path.basename(path)}:{line}" if path else ""
    return f"Paused before the first op, {op_type}{where}."


def after_call(call: ProgramCall, why: str) -> str:
    """Return the sentence of a stop after a call."""
    return f"Paused after {_words(call)}{f': {why}' if why else ''}."


def sentence_of_stop(why: str, tensor: Message) -> str:
    """Return the sentence of a stop at a tensor.

    Args:
      why: What stopped it; empty for a step.
      tensor: The tensor.
    """
    bad = bad_kinds(tensor)
    where = f"{bad} in {name_of(tensor)}" if bad else name_of(tensor)
    return f"{where}: {why}." if why else f"{where}."
