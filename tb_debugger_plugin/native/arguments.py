"""Describes the arguments whose fields the compiled module reads by name.

The names are those of the structs in `src/recorder.h`, `src/keep.h` and `src/compiled_op.h`;
`src/py_recorder.cc` and `src/py_watches.cc` read them.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_debugger_plugin.events.gate_table import StepKind


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
    """

    tensor_proto: bytes
    mode: int
    rule: int = -1
    num_bytes: int = 0


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
