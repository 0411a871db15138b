"""The values that Python and the compiled module hand each other.

The module reads and gives their fields by name. Their C++ structs are in `src/recorder.h`, `src/keep.h`,
`src/compiled_op.h`, `src/guard_op.h`, `src/condition.h`, `src/gate.h`, `src/passed.h` and
`src/bad_tensors.h`; the files `src/py_*.cc` convert them.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_debugger_plugin.events.gate_table import CannotChange, StepKind

#: The number of a call that is not known.
NO_CALL = -1


class BadCall(NamedTuple):
    """A guarded call of a function that computed an infinity or NaN.

    Attributes:
      number: The number by which `TbDebuggerHeld` gives out what it holds.
      site: The number of the function's guard.
      bad: The inputs of the guard that are bad: checked ones first, then held ones.
      is_held: Whether what the guard holds was kept.
    """

    number: int
    site: int
    bad: list[int]
    is_held: bool


class FollowedInput(NamedTuple):
    """An input of a guard whose numbers are kept of every few good calls.

    Attributes:
      prefix: The encoded fields of its records but their numbers; empty if it is not recorded.
      tensor_id: Its number in the recording.
    """

    prefix: bytes = b""
    tensor_id: int = 0


class TraceTarget(NamedTuple):
    """The parts of a tensor's records that are known before it is computed.

    Attributes:
      prefix: The encoded fields of its GraphExecutionTrace other than the mode and the tensor.
      tensor_id: The tensor id.
      rank: Rank of a tensor that has the same elements as the watched one; -1 for the watched tensor itself.
      keep: The rules by which the watched tensor may be kept whole, as bits.
      rings: Whether it may ring the alarm when it is bad.
      in_pipeline: Whether it is part of an input pipeline, whose threads do not wait for others.
      is_added_into: Whether an op may add into its memory: one more reference would change the sum.
      is_recorded: Whether it is recorded; else its watch op only lets it pass the gate.
      dims: Static shape of a tensor that has the same elements as the watched one, -1 for an unknown
        dimension; empty for the watched tensor itself.
    """

    prefix: bytes
    tensor_id: int
    rank: int
    keep: int = 0
    rings: bool = True
    in_pipeline: bool = False
    is_added_into: bool = False
    is_recorded: bool = True
    dims: tuple[int, ...] = ()


class TensorValue(NamedTuple):
    """A tensor as it is recorded.

    Attributes:
      tensor_proto: Its encoded TensorProto.
      mode: The tensor debug mode of that.
      rule: Index of the rule that keeps it whole; -1 if none does.
      num_bytes: Its bytes, which count towards the total of that rule.
      element: Position of its first NaN or infinity; -1 if it has none, or nobody looked.
      nan_element: Position of its first NaN; -1 if it has none.
      shape: Its shape, if it has an `element`.
    """

    tensor_proto: bytes
    mode: int
    rule: int = -1
    num_bytes: int = 0
    element: int = -1
    nan_element: int = -1
    shape: tuple[int, ...] = ()


class KeepLimits(NamedTuple):
    """The part of a `KeepValues` that is applied to each value.

    Attributes:
      only_bad: Whether only values with an infinity or NaN are kept.
      max_tensor_bytes: Size of the largest value that is kept; -1 for no limit.
      max_total_bytes: Size of all values together; -1 for no limit.
    """

    only_bad: bool
    max_tensor_bytes: int
    max_total_bytes: int


class CompiledTensor(NamedTuple):
    """A tensor inside a compiled function.

    Attributes:
      watch: Number of its watch.
      group: Tensors are recorded in the order of groups, and inside a group in the order in which they became
        bad.
      whole: Index among the tensors that the op takes whole; -1 for other tensors.
      elements: Indices of its magnitudes in the measurements.
      tensor_proto: What to record instead of its health; empty when its health is recorded.
      size: Number of its elements; -1 when it is not known before, or not recorded.
      size_at: Index of that number in the measurements; -1 when it is not measured.
      counts: Indices of its counts of -inf, +inf and NaN in the measurements; empty when they are not
        measured.
    """

    watch: int
    group: int
    whole: int
    elements: tuple[int, ...]
    tensor_proto: bytes
    size: int
    size_at: int
    counts: tuple[int, ...]


class ConditionStep(NamedTuple):
    """One step of a condition in postfix order.

    Attributes:
      kind: What it does.
      value: The constant of `CONSTANT`, the index in `gate_table.NUMBERS` of `NUMBER`; else 0.
    """

    kind: StepKind
    value: float = 0.0


class GateRule(NamedTuple):
    """What a watch op stops at.

    Attributes:
      number: Names the rule in hits and counts; from 1 on.
      tensor_ids: The tensors; None for all.
      condition: Steps that compute a truth value from the numbers of a tensor; empty: always true.
      only_bad: Whether the condition can hold only for a tensor with an infinity or NaN. Then no numbers are
        computed for other tensors.
      ignore: Hits that do not stop the program, from the time when the rule is set.
    """

    number: int
    tensor_ids: frozenset[int] | None
    condition: tuple[ConditionStep, ...] = ()
    only_bad: bool = False
    ignore: int = 0


class Passed(NamedTuple):
    """A tensor that passed the gate in the current call.

    Attributes:
      number: Names it; rises in the order of time, for the whole recording.
      tensor_id: The tensor id of its records.
      occurrence: How often the tensor was computed in its call, this time included.
      dtype: TensorFlow's DataType number; 0 if not known.
      shape: Its shape; None if not known.
      numbers: The numbers that were computed, in the order of `gate_table.NUMBERS`, None for those that were
        not; None if there are none.
      num_bytes: Bytes of its elements.
      is_held: Whether its elements can be read.
      was_changed: Whether its value was replaced.
      call: The number of the call that computed it, or `NO_CALL`; see `Gate.begin_run` of
        `capture/gate.py`.
    """

    number: int
    tensor_id: int
    occurrence: int
    dtype: int
    shape: tuple[int, ...] | None
    numbers: tuple[float | None, ...] | None
    num_bytes: int
    is_held: bool
    was_changed: bool
    call: int = NO_CALL


class GateHit(NamedTuple):
    """A thread that is held.

    Attributes:
      number: Names the hit; rises.
      rule: Number of the rule that fitted; 0 if the next tensor was wanted.
      tensor: The tensor that the thread has computed. Its value is held while the thread is, if there is one.
      cannot_change: Why its value cannot be replaced, or `CAN_CHANGE`.
      others_may_have_passed: Whether ops that use the tensor may have run already.
      in_pipeline: Whether the thread belongs to an input pipeline.
    """

    number: int
    rule: int
    tensor: Passed
    cannot_change: CannotChange
    others_may_have_passed: bool
    in_pipeline: bool


class GateCounts(NamedTuple):
    """Counts of a gate.

    Attributes:
      hits: How often each rule that is set has held, by its number, ignored hits included.
      held_bytes: Bytes of the values that are held.
      dropped_values: Values of the current call that were dropped because of the limit.
      passed: Tensors that passed in the call, as far as they are noted.
    """

    hits: dict[int, int]
    held_bytes: int
    dropped_values: int
    passed: int


class BadRecord(NamedTuple):
    """A bad value on record.

    Attributes:
      is_execution: Whether it is an output of an execution; else of an op of a graph.
      prefix: The encoded fields of the Execution, or of the GraphExecutionTrace, that were known before.
      is_nan: Whether the tensor has a NaN; in CURT_HEALTH, whether it is bad at all.
    """

    is_execution: bool
    prefix: bytes
    is_nan: bool
