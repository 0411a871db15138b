"""Reads the eager ops around an eager op from a snapshot.

Takes a snapshot and the position of an execution. Returns the ``Surroundings`` that advice looks at.

An eager op of a gradient does not name its forward op. That is an op before it that has such a gradient, and
that took or made one of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.near_ops import backward_chain, wanted
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.surroundings import (
    KnownOp,
    NearOp,
    NearOutput,
    ProgramFacts,
    facts_of,
)
from tb_debugger_plugin.analysis.lists import executions
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot
from tb_debugger_plugin.analysis.source.sources import stack_frames
from tb_debugger_plugin.analysis.source.user_lines import UserLine, user_line
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.index.tensors import GOOD

#: Executions with a tensor in common that are looked at.
_MOST: Final = 64
#: The file of TensorFlow whose functions compute gradients.
_BACKPROP: Final = "backprop.py"


@dataclass(frozen=True)
class EagerOp:
    """An execution.

    Attributes:
      snapshot: The run.
      index: Its position.
    """

    snapshot: Snapshot
    index: int

    @cached_property
    def record(self) -> Json:
        """The execution as the route ``executions`` gives it."""
        (record,) = executions.data(self.snapshot, Range(self.index, self.index + 1))
        return record

    @property
    def type(self) -> str:
        """Type of the op."""
        return str(self.record["op_type"])

    @property
    def name(self) -> str:
        """An eager op has no name."""
        return ""

    @property
    def layer(self) -> str | None:
        """The layer is not on record."""
        return None

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes are not on record."""
        return {}

    @cached_property
    def user_line(self) -> UserLine | None:
        """The line of the user that ran it."""
        rows = self.snapshot.rows("SELECT stack FROM executions WHERE idx = ?", [self.index])
        return user_line(self.snapshot, rows[0][0])

    @property
    def line(self) -> str | None:
        """The text of the line."""
        return None if self.user_line is None else self.user_line.text

    @cached_property
    def inputs(self) -> Sequence[NearOutput]:
        """The tensors that the op took; one that no execution made is of an op without a type."""
        return [
            NearOutput(KnownOp("", f"tensor {each['tensor_id']}"))
            if each["execution_index"] is None
            else NearOutput(EagerOp(self.snapshot, each["execution_index"]), each["output_slot"])
            for each in self.record["inputs"][:_MOST]
        ]

    @cached_property
    def consumers(self) -> Sequence[NearOp]:
        """The executions that took its outputs."""
        return _that_take(self.snapshot, self.record["output_tensor_ids"], after=self.index)

    def numbers(self, slot: int = 0) -> Numbers:
        """Return the numbers of an output."""
        outputs = self.record["outputs"]
        return Numbers.of_health(outputs[slot]) if slot < len(outputs) else Numbers()

    @cached_property
    def is_backward(self) -> bool:
        """Whether a function of TensorFlow that computes gradients ran the op."""
        try:
            frames = stack_frames(self.snapshot, self.record["stack_frame_ids"])["stack_frames"]
        except NotFoundError:  # a damaged file of frames
            return False
        return any((path or "").endswith(_BACKPROP) for _, path, *_ in frames)


@dataclass(frozen=True)
class AroundExecution:
    """What is around an eager op.

    Attributes:
      op: The op.
    """

    op: EagerOp

    @cached_property
    def forward(self) -> NearOp | None:
        """The op whose gradient it is part of."""
        if not self.op.is_backward:
            return None
        types = wanted(self.op.type)
        chain = [near for near in backward_chain(self.op, _is_backward) if isinstance(near, EagerOp)]
        tensors = [tensor for near in chain for tensor in near.record["input_tensor_ids"]]
        makers = [output.op for near in chain for output in near.inputs]
        takers = _that_take(self.op.snapshot, tensors, before=self.op.index) if types else []
        fit = [near for near in (*makers, *takers) if isinstance(near, EagerOp) and near.type in types]
        return next((near for near in fit if not near.is_backward), None)

    @cached_property
    def program(self) -> ProgramFacts:
        """What is known of the whole program."""
        written = self.forward if isinstance(self.forward, EagerOp) else self.op
        return facts_of(self.op.snapshot, None if written.user_line is None else written.user_line.path)

    def history(self, slot: int) -> Sequence[float]:
        """Nothing: the tensors of eager ops have no places at which they come again."""
        return ()

    @cached_property
    def finite_before(self) -> int:
        """How often the line ran the op before and got only finite values."""
        rows = self.op.snapshot.rows(
            "SELECT count(*) FROM (SELECT 1 FROM executions WHERE (op_type, stack) ="
            " (SELECT (op_type, stack) FROM executions WHERE idx = ?) AND idx < ? AND health = ? LIMIT ?)",
            [self.op.index, self.op.index, GOOD, _MOST],
        )
        return int(rows[0][0])


def _is_backward(op: NearOp) -> bool:
    return isinstance(op, EagerOp) and op.is_backward


def around_execution(snapshot: Snapshot, index: int) -> AroundExecution:
    """Return what is around an execution."""
    return AroundExecution(EagerOp(snapshot, index))


def _that_take(
    snapshot: Snapshot, tensor_ids: Sequence[int], *, after: int = -1, before: int | None = None
) -> list[EagerOp]:
    """Return the executions that took one of some tensors, the nearest first."""
    rows = snapshot.rows(
        "SELECT DISTINCT idx FROM execution_inputs WHERE tensor_id IN (SELECT unnest(?::BIGINT[]))"
        f" AND idx > ? AND idx < ? ORDER BY idx {'ASC' if before is None else 'DESC'} LIMIT ?",
        [list(tensor_ids), after, snapshot.num_executions if before is None else before, _MOST],
    )
    return [EagerOp(snapshot, index) for (index,) in rows]
