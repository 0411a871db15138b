"""Chooses which tensors of a graph are watched, and how.

Takes a function and returns a `Plan`.

Invariant: only tensors of ops that run are watched, because a watch op would make the others run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import tensorflow as tf
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.session_graph import is_reference_read
from tb_debugger_plugin.capture.graph_records import KnownGraph
from tb_debugger_plugin.capture.keep_values import TensorFacts
from tb_debugger_plugin.capture.options import Choice, Options, covers
from tb_debugger_plugin.capture.plan.attachment import (
    KEEPS_ELEMENTS,
    Attachment,
    attachment_of,
    attachment_of_isolated,
    is_added_into,
)
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor
from tb_debugger_plugin.events.modes import TensorDebugMode, spec_of


@dataclass(frozen=True)
class Planned:
    """A tensor to watch.

    Attributes:
      op: The op that makes it.
      slot: Number of the output.
      attachment: How it is watched.
      same: Tensors with the same elements, recorded with it.
      coalesced: Other tensors that its watch op records before it.
      keep: The rules by which its value may be kept whole; see `Choice`.
      rings: Whether it may ring the alarm when it is bad.
      is_isolated: Whether no other tensor shares its watch op, for a breakpoint.
      is_added_into: Whether an op may add into its memory; known only if the options are interactive.
      is_recorded: Whether it is recorded; else a debugger stops at it.
    """

    op: TfOp
    slot: int
    attachment: Attachment
    same: tuple[Planned, ...] = ()
    coalesced: tuple[Planned, ...] = ()
    keep: int = 0
    rings: bool = True
    is_isolated: bool = False
    is_added_into: bool = False
    is_recorded: bool = True

    @property
    def tensor(self) -> TfTensor:
        """The tensor itself."""
        return self.op.outputs[self.slot]


@dataclass(frozen=True)
class Plan:
    """The tensors to watch in one graph.

    Attributes:
      tensors: The tensors, in the order of the graph's ops.
      calls: Names of the ops that run, and that run other graphs (calls, branches, loops).
      unrecorded: Tensors that are not watched, and would be if a debugger had a breakpoint at them.
    """

    tensors: tuple[Planned, ...]
    calls: tuple[str, ...]
    unrecorded: tuple[Planned, ...] = ()


#: Ops that compute nothing: they pass on their inputs, steer TF1-style loops, or belong to another recorder.
_NOT_COMPUTED = frozenset(
    (
        *("Identity", "Enter", "Exit", "Merge", "NextIteration", "Switch", "RefSwitch", "LoopCond", "NoOp"),
        *("DebugIdentityV2", "DebugNumericSummaryV2"),
    )
)
#: A user gives a tensor a name with it.
_IDENTITY = "Identity"
#: An op that Grappler splits: it drops what is only needed for outputs without consumers.
_PASSES_ON_ONE_BY_ONE = "IdentityN"
#: Ops with outputs in uninitialised memory: the first slot that must not be read.
_UNINITIALISED_FROM = {
    "Empty": 0,
    "FusedBatchNorm": 3,
    "FusedBatchNormV2": 3,
    "FusedBatchNormV3": 3,
    "FusedBatchNormGrad": 3,
    "FusedBatchNormGradV2": 3,
    "FusedBatchNormGradV3": 3,
}
#: Ops that run other graphs, and the type that they get when these graphs have watch ops: in the graphs of a
#: stateless op, TensorFlow drops ops without consumers.
CALLS = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessIf": "If",
    "StatelessCase": "Case",
    "StatelessWhile": "While",
}


def make_plan(
    function: Function,
    known: KnownGraph,
    options: Options,
    *,
    supports_inline: bool,
    isolated: Collection[int] = (),
) -> Plan:
    """Choose what to watch in a function.

    Args:
      function: A function with a complete graph.
      known: Ids of its graph and tensors; only outputs with a tensor id are watched.
      options: What to record.
      supports_inline: Whether watch ops can be inline.
      isolated: Ids of the tensors that get watch ops of their own, inline where that is possible.
    """
    live = live_ops(function)
    uses = _uses_in(function, live)
    names = _names(function)
    ops = [op for op in function.graph.get_operations() if op in live]
    tensors: list[Planned] = []
    unrecorded: list[Planned] = []
    for op, slot, choice in _outputs(ops, known, options, names):
        if not (choice.is_recorded or _may_stop(op, slot, options)):
            continue
        tensor, keep = op.outputs[slot], choice.keep
        can_be_inline = supports_inline and uses.allow_inline(tensor)
        attachment = attachment_of(tensor, options, can_be_inline=can_be_inline, may_be_kept=bool(keep))
        # TensorFlow computes with constants while it optimizes a graph.
        is_constant = attachment is Attachment.CONSTANT
        is_isolated = not is_constant and known.tensor_ids[op.name][slot] in isolated
        if is_isolated:
            attachment = attachment_of_isolated(tensor, attachment, can_be_inline=can_be_inline)
        rings = choice.is_recorded and bool(options.rings(op.type, slot, op.name))
        adds = options.is_interactive and is_added_into(tensor)
        planned = Planned(
            op, slot, attachment, (), (), keep, rings, is_isolated, adds, is_recorded=choice.is_recorded
        )
        (tensors if choice.is_recorded or is_isolated else unrecorded).append(planned)
    if supports_inline and spec_of(options.mode).reads_elements:
        tensors = _with_same_elements(tensors, options)
    if all(tensor.attachment is Attachment.CONSTANT for tensor in tensors):
        # Constants are recorded before the first other tensor of their graph; this graph has none.
        tensors = [replace(tensor, attachment=Attachment.BESIDE) for tensor in tensors]
    return Plan(tuple(tensors), tuple(op.name for op in ops if op.type in CALLS), tuple(unrecorded))


@dataclass(frozen=True)
class _Uses:
    """Finds out whether the tensors of a function are used when it runs.

    Attributes:
      live: The ops that run.
      certain: The live ops that run even after Grappler has dropped what is not needed.
      results: `id` of each tensor that is a result.
    """

    live: Collection[TfOp]
    certain: Collection[TfOp]
    results: Collection[int]

    def allow_inline(self, tensor: TfTensor) -> bool:
        """Whether an inline watch op of a tensor runs when the op of the tensor does."""
        # An inline watch op does not force an op to run that TensorFlow may drop.
        if tensor.op in self.certain:
            return self._is_taken(tensor)
        return any(op in self.live for op in tensor.consumers())

    def _is_taken(self, tensor: TfTensor) -> bool:
        """Whether a tensor is a result, or an input of an op that is certain to run."""
        if id(tensor) in self.results:
            return True
        return any(self._takes(op, tensor) for op in tensor.consumers() if op in self.live)

    def _takes(self, op: TfOp, tensor: TfTensor) -> bool:
        if op.type != _PASSES_ON_ONE_BY_ONE:
            return op in self.certain
        outputs = op.outputs
        return any(taken is tensor and self._is_taken(outputs[slot]) for slot, taken in enumerate(op.inputs))


def _uses_in(function: Function, live: set[TfOp]) -> _Uses:
    has_partial = any(op.type == _PASSES_ON_ONE_BY_ONE for op in live)
    certain = _certain_ops(function) if has_partial else live
    return _Uses(live, certain, set(map(id, function.result_tensors())))


def _may_stop(op: TfOp, slot: int, options: Options) -> bool:
    """Whether a debugger may stop at an output that is not recorded."""
    can_isolate = options.is_interactive and not options.keep_graph_optimizations
    is_constant = op.type == "Const"
    return can_isolate and not is_constant and covers(TensorDebugMode.FULL_TENSOR, op.outputs[slot].dtype)


def _outputs(
    ops: Iterable[TfOp], known: KnownGraph, options: Options, functions: tuple[str, ...] = ()
) -> Iterator[tuple[TfOp, int, Choice]]:
    """Yield the outputs of ops that compute anything, and how they are recorded."""
    for op in ops:
        is_computed = op.type not in _NOT_COMPUTED
        if is_computed or (options.only_kept and op.type == _IDENTITY):
            layer = known.layers.get(op.name, "")
            for slot in _watchable_slots(op, known):
                facts = TensorFacts(op.type, op.outputs[slot].dtype, op.name, layer, functions)
                yield op, slot, options.choose(facts)


def plan_of_session(
    new: Iterable[TfOp],
    known: KnownGraph,
    options: Options,
    *,
    supports_inline: bool,
    can_rewire: bool = True,
) -> Plan:
    """Choose what to watch in a part of a graph that a session runs.

    It is not known before which ops a run needs. Each run may need others, so constants are watched like
    other ops.

    Args:
      new: All ops of the part.
      known: Ids of the graph and its tensors.
      options: What to record.
      supports_inline: Whether watch ops can be inline, and can be for tensors that are not recorded.
      can_rewire: Whether consumers may take the output of a watch op.
    """
    new = list(new)
    stops = supports_inline and options.is_interactive
    outputs = chain(_outputs(new, known, options), _variable_reads(new, known) if stops else ())
    tensors = []
    for op, slot, choice in outputs:
        tensor, can_be_inline = op.outputs[slot], supports_inline and can_rewire
        is_wanted = choice.is_recorded or (stops and _may_stop(op, slot, options))
        if is_wanted and (can_rewire or not _is_summed_in_place(tensor)):
            planned = Planned(
                op,
                slot,
                _attachment_in_session(tensor, options, can_be_inline, may_be_kept=bool(choice.keep)),
                keep=choice.keep,
                rings=choice.is_recorded and bool(options.rings(op.type, slot, op.name)),
                is_added_into=options.is_interactive and (is_added_into(tensor) or is_reference_read(op)),
                is_recorded=choice.is_recorded,
            )
            tensors.append(planned)
    places = {op: number for number, op in enumerate(new)}
    tensors.sort(key=lambda item: places[item.op])
    return Plan(tuple(tensors), tuple(op.name for op in new if op.type in CALLS))


def _variable_reads(ops: Iterable[TfOp], known: KnownGraph) -> Iterator[tuple[TfOp, int, Choice]]:
    """Yield the reads of variables that are references, which are the program's names for their values."""
    for op in ops:
        if is_reference_read(op):
            yield from ((op, slot, Choice(False)) for slot in _watchable_slots(op, known))


def _is_summed_in_place(tensor: TfTensor) -> bool:
    """Whether one more consumer changes the order of a sum. Two numbers have the same sum in both orders."""
    return is_added_into(tensor, at_least=3)


def _attachment_in_session(
    tensor: TfTensor, options: Options, supports_inline: bool, *, may_be_kept: bool
) -> Attachment:
    can_be_inline = supports_inline and bool(tensor.consumers())
    attachment = attachment_of(tensor, options, can_be_inline=can_be_inline, may_be_kept=may_be_kept)
    has_health = tensor.dtype.is_floating or tensor.dtype.is_complex
    if options.is_interactive and attachment is Attachment.BESIDE and has_health:
        # A graph of a session cannot be defined again when there is a breakpoint.
        return attachment_of_isolated(tensor, attachment, can_be_inline=can_be_inline)
    return Attachment.BESIDE if attachment is Attachment.CONSTANT else attachment


def _with_same_elements(tensors: list[Planned], options: Options) -> list[Planned]:
    """Let one watch op record tensors that have the same elements.

    A tensor that may be kept whole has an op of its own, which knows its shape; so has one that a debugger
    may show, if its shape does not follow from the number of its elements.
    """
    kept: dict[tuple[str, int], Planned] = {}
    origins: dict[tuple[str, int], tuple[str, int]] = {}
    for item in tensors:
        key = (item.op.name, item.slot)
        source = _source_of_elements(item)
        origin = key if source is None else origins.get(source, key)
        is_apart = item.keep or item.is_isolated or not _may_share(item.tensor.shape, options)
        if origin == key or is_apart or kept[origin].op.device != item.op.device:
            kept[key] = item
            if item.attachment not in (Attachment.CONSTANT, Attachment.REDUCED) and not item.is_isolated:
                origins[key] = key
        else:
            kept[origin] = replace(kept[origin], same=(*kept[origin].same, item))
            origins[key] = origin
    return list(kept.values())


def _may_share(shape: tf.TensorShape, options: Options) -> bool:
    """Whether a tensor of this static shape may be recorded by the watch op of another one."""
    if shape.rank is None or not options.is_interactive:
        return shape.rank is not None
    dims = shape.as_list()
    return dims.count(None) == 0 or (dims.count(None) == 1 and 0 not in dims)


def _source_of_elements(item: Planned) -> tuple[str, int] | None:
    if item.op.type not in KEEPS_ELEMENTS:
        return None
    # An op with several outputs passes on its inputs one by one.
    source = item.op.inputs[item.slot]
    return source.op.name, source.value_index


def _names(function: Function) -> tuple[str, ...]:
    """Names of a function that a user may know: its own, that of its graph, and those of the outer graphs."""
    names, graph = [function.name], function.graph_of()
    while isinstance(graph, func_graph.FuncGraph):
        names.append(graph.name)
        graph = graph.outer_graph
    return tuple(names)


def _watchable_slots(op: TfOp, known: KnownGraph) -> range:
    end = _UNINITIALISED_FROM.get(op.type, len(op.outputs))
    return range(min(end, len(known.tensor_ids[op.name])))


def live_ops(function: Function) -> set[TfOp]:
    """Return the ops that run when a function is called: those that a result or a control output needs.

    Args:
      function: A function that still has its graph.
    """
    live: set[TfOp] = set()
    waiting = [tensor.op for tensor in function.result_tensors()] + function.control_ops()
    while waiting:
        op = waiting.pop()
        if op in live:
            continue
        live.add(op)
        waiting.extend(tensor.op for tensor in op.inputs)
        waiting.extend(op.control_inputs)
    return live


def _certain_ops(function: Function) -> set[TfOp]:
    """Return the live ops that run even after Grappler has dropped what is not needed."""
    certain: set[TfOp] = set()
    whole: set[TfOp] = set()  # all of their inputs are needed
    waiting = [*_with_slots(function.result_tensors()), *((op, None) for op in function.control_ops())]
    while waiting:
        op, slot = waiting.pop()
        if op in whole:
            continue
        certain.add(op)
        if slot is not None and op.type == _PASSES_ON_ONE_BY_ONE:
            waiting.extend(_with_slots(op.inputs[slot : slot + 1]))
        else:
            whole.add(op)
            waiting.extend(_with_slots(op.inputs))
        waiting.extend((other, None) for other in op.control_inputs)
    return certain


def _with_slots(tensors: Iterable[TfTensor]) -> Iterable[tuple[TfOp, int | None]]:
    return ((tensor.op, tensor.value_index) for tensor in tensors)
