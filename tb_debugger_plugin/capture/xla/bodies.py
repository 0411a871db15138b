"""What a compiled function, and what it calls, hands over of its tensors.

A `Body` says which tensors of a function are measured, which of its calls hand over theirs, and where in its
vector what is known of each tensor stands. `layout` makes it, `copies` builds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.sinks.protocol import CompiledTensor
from tb_debugger_plugin.capture.xla.magnitudes import ByKind
from tb_debugger_plugin.capture.xla.vouching import Key

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
LOOPS = ("While", "StatelessWhile")

#: Gives the body of the function of a name; None when the function is not watched.
Bodies: TypeAlias = "Callable[[str], Body | None]"
#: A tensor as an input of a node names it, and its dtype.
Sized: TypeAlias = "tuple[str, Any]"


@dataclass(frozen=True)
class Looks:
    """Which tensors of a function are looked at, and how.

    Attributes:
      told_by: The tensors to measure for each of the function's; None when it matters only whether it ran.
      counted: Those whose bad elements are counted. They tell only of tensors that have as many.
      in_numbers: Whether the counts of all that is bad are wanted, which may take a second run.
    """

    told_by: Mapping[Key, tuple[Key, ...]] | None
    counted: Collection[Key] = ()
    in_numbers: bool = False


@dataclass(frozen=True)
class Call:
    """An op that runs other graphs, and hands over what is in them.

    Attributes:
      op: The op.
      bodies: What it calls: a function, the branches, or the body of a loop. Their elements stand one behind
        the other in the caller's vector.
      condition: Of a loop: what says whether it goes on.
    """

    op: Any
    bodies: tuple[Body, ...]
    condition: Function | None = None

    @property
    def is_loop(self) -> bool:
        """Whether it runs its body again and again."""
        return self.op.type in LOOPS

    @property
    def is_branch(self) -> bool:
        """Whether it runs one of its bodies."""
        return self.op.type in BRANCHES

    @property
    def size(self) -> int:
        """How many elements it hands over."""
        return sum(body.size for body in self.bodies)


@dataclass(frozen=True)
class Body:
    """A function as part of a compiled program.

    Attributes:
      function: The function.
      suffix: Stands behind the function's name in those of its copies.
      measured: The tensors of which only the magnitude is measured. These come first in the function's
        vector, in this order.
      counted: Those whose bad elements are counted, too: their magnitudes, and then the counts.
      sized: Those whose sizes follow: what is counted and has a shape that nobody knows before.
      marked: Whether one element follows that only says that the function ran.
      calls: The ops that hand over more, in the order of the vector.
      tensors: What is recorded, in order.
      size: Length of the vector.
      doubtful: Which elements of the vector leave something unknown when they are bad.
      groups: One more than the highest group of the tensors.
      stacks: Creation stack of each op: what is equal for two ops says that theirs is the same.
    """

    function: Function
    suffix: str
    measured: ByKind
    counted: ByKind
    sized: tuple[Sized, ...]
    marked: bool
    calls: tuple[Call, ...]
    tensors: tuple[CompiledTensor, ...]
    size: int
    doubtful: tuple[int, ...]
    groups: int
    stacks: Mapping[str, Hashable]
