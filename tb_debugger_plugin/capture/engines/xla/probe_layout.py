"""Describes which tensors of a compiled function are measured, and where the measurements are.

A `ProbePlan` chooses the tensors that are measured. A `ProbeLayout` gives the index of each measurement in a
function's vector, and the calls that add measurements of their own. `layout_builder` makes the layout,
`copies` builds nodes from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture.engines.xla.magnitudes import ByKind
from tb_debugger_plugin.capture.engines.xla.witnesses import Key
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.sinks.protocol import MeasuredTensor
from tb_debugger_plugin.capture.tf_types import TfOp

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
LOOPS = ("While", "StatelessWhile")

#: Returns the layout of the function of a name; None when the function is not watched.
Layouts: TypeAlias = "Callable[[str], ProbeLayout | None]"
#: A tensor, by the name that an input of a node has, and its dtype.
Sized: TypeAlias = "tuple[str, tf.DType]"


@dataclass(frozen=True)
class ProbePlan:
    """Which tensors of a function are measured, and how.

    Attributes:
      witnesses: For each tensor, the tensors to measure instead of it; None when it only matters whether the
        function ran.
      counted: The tensors whose bad elements are counted. They stand for tensors with equal counts only.
      exact_counts: Whether all bad tensors are counted, which may take a second run.
    """

    witnesses: Mapping[Key, tuple[Key, ...]] | None
    counted: Collection[Key] = ()
    exact_counts: bool = False


@dataclass(frozen=True)
class ProbedCall:
    """An op that runs other graphs, and returns their measurements.

    Attributes:
      op: The op.
      layouts: Layouts of what it calls: a function, the branches, or the body of a loop. Their elements
        follow each other in the caller's vector.
      condition: The condition of a loop; None for other ops.
    """

    op: TfOp
    layouts: tuple[ProbeLayout, ...]
    condition: Function | None = None

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop."""
        return self.op.type in LOOPS

    @property
    def is_branch(self) -> bool:
        """Whether it is a conditional."""
        return self.op.type in BRANCHES

    @property
    def size(self) -> int:
        """Number of its elements."""
        return sum(layout.size for layout in self.layouts)


@dataclass(frozen=True)
class ProbeLayout:
    """The measurements of a function that is part of a compiled program.

    Attributes:
      function: The function.
      suffix: Added to the function's name in the names of its copies.
      measured: The tensors with a magnitude and no counts. They come first in the vector, in this order.
      counted: The tensors whose bad elements are counted as well: their magnitudes, then the counts.
      sized: The tensors whose sizes follow: counted ones whose static shape is not known.
      marked: Whether one element follows that only shows that the function ran.
      calls: The ops that add measurements, in the order of the vector.
      tensors: The tensors that are recorded, in order.
      size: Length of the vector.
      inconclusive: Indices of the elements that leave something unknown when they are bad.
      groups: One more than the highest group of the tensors.
      stacks: Creation stack of each op; equal values mean equal stacks.
    """

    function: Function
    suffix: str
    measured: ByKind
    counted: ByKind
    sized: tuple[Sized, ...]
    marked: bool
    calls: tuple[ProbedCall, ...]
    tensors: tuple[MeasuredTensor, ...]
    size: int
    inconclusive: tuple[int, ...]
    groups: int
    stacks: Mapping[str, Hashable]
