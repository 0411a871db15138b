"""Decides what the guard of a function takes: which tensors it checks, and which a replay of the call needs.

Takes a function and edits its definition: adds the reads of variables that are missing, and lets calls of
other functions run copies that hand out what is taken inside (`copies`). Returns a `Taken`.

Invariant: a tensor is taken only where an op uses it that no graph optimizer rewrites (an assignment, a
comparison, the result of the call, a summary), so nothing that TensorFlow would fuse stays apart, and the
program keeps its bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import attributes
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import handle_data_util

from tb_debugger_plugin.capture.engines.guard.compared import HIDES, hidden_inputs, hides_nan
from tb_debugger_plugin.capture.engines.xla.nonfinite import ASSIGNMENTS
from tb_debugger_plugin.capture.engines.xla.witnesses import choose_witnesses
from tb_debugger_plugin.capture.graph.called import function_attributes
from tb_debugger_plugin.capture.graph.copies import functions_of
from tb_debugger_plugin.capture.graph.definitions import definition_of, source_name
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.plan.attachment import is_added_into
from tb_debugger_plugin.capture.plan.plan import live_ops
from tb_debugger_plugin.capture.tf_types import GraphDef, NameAttrList, NodeDef, TfOp, TfTensor
from tb_debugger_plugin.events.tensorflow_names import op_and_slot

#: Prefix of the names of nodes that a guard adds.
SCOPE: Final = "TbDebuggerGuard/"
#: Ops that call one function.
CALLS: Final = ("StatefulPartitionedCall", "PartitionedCall")
#: Ops that run branches and loops.
_PARTS: Final = ("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile")
#: Ops that neither take nor change anything.
_SOURCES: Final = ("Const", "Placeholder", "NoOp")
#: Stateful ops that may run twice: they have no effect, or only fail.
HARMLESS: Final = frozenset(("Assert", "PlaceholderWithDefault", "EnsureShape"))
#: The op that gives an optional: an element of an iterator, or that there is none.
_OPTIONAL: Final = "IteratorGetNextAsOptional"
#: Ops that make a list inside the function, and those that use it.
_LISTS: Final = ("TensorArray", "Stack")
#: Ops that read what is not a variable, and change nothing.
_READS_TABLES: Final = frozenset(("LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2"))
#: Ops on variables that may run twice, on variables of their own.
_OF_VARIABLES: Final = ("Assign", "Read", "Resource", "Rng", "Stateful", "VarIsInitialized", "VariableShape")
#: Ops on variables that change nothing.
_READS: Final = frozenset(
    ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp")
)
#: Those of them that do not use the value.
_ASK: Final = frozenset(("VariableShape", "VarIsInitializedOp"))
#: Ops that exchange values with other replicas or workers. They may take a variable that keeps their order.
_EXCHANGES: Final = ("Collective", "Nccl")
#: Ops that show what they take: nothing else may show it. Other ops without results, such as those that save,
#: take what is checked elsewhere.
_SHOWS: Final = frozenset(("WriteSummary", "WriteScalarSummary", "PrintV2"))
#: Ops that make text of numbers, for those.
_TO_TEXT: Final = frozenset(("StringFormat", "AsString"))
_LOOPS: Final = ("While", "StatelessWhile")
#: Attributes of functions that TensorFlow may replace by others with the same arguments and results.
_REPLACEABLE: Final = ("api_implements", attributes.XLA_COMPILE)
#: Ops that update a few rows. TensorFlow then copies the whole variable for each read.
_SPARSE: Final = ("ResourceScatter", "ResourceSparseApply")
_VARIANT: Final = tf.variant.as_datatype_enum
#: Up to this size, in bytes, it costs nothing to hold a value that is assigned.
_SMALL_BYTES: Final = 1 << 16
#: From this size on, in bytes, such a copy costs too much.
LARGE_TABLE: Final = 16 << 20


class Source(NamedTuple):
    """A tensor of a definition.

    Attributes:
      name: `op` or `op:slot`.
      dtype: Its DataType number.
    """

    name: str
    dtype: int


class Label(NamedTuple):
    """What a tensor is that a guard checks.

    Attributes:
      function: The function in which it is computed.
      what: A variable, by its argument, or a result, or what an op takes.
      is_variable: Whether it is the value of a variable.
      only_nan: Whether only NaN is bad in it: an op takes it whose result does not show that.
      is_told: Whether the guard looks at it only once it knows of something bad: others that are checked are
        bad whenever it is.
    """

    function: Function
    what: str
    is_variable: bool
    only_nan: bool = False
    is_told: bool = False


class Variable(NamedTuple):
    """A variable that is an argument of a function.

    Attributes:
      dtype: Dtype of its value.
      shape: Shape of its value.
    """

    dtype: tf.DType
    shape: tf.TensorShape

    @property
    def size(self) -> int:
        """Size of its value in bytes; 0 when its shape is not known."""
        return int(self.shape.num_elements() or 0) * int(self.dtype.size)


class Kept(NamedTuple):
    """An op that a replay does not run: it takes what the op computed in the call.

    Attributes:
      node: Name of the op; of a call, a branch or a loop, if the ops are inside the functions that it runs.
      sources: Its outputs; of a call, those of the ops inside; of a branch or a loop, lists of those.
      items: The dtypes of the outputs of the ops.
      inside: For each of them, the dtypes of what is in an optional; nothing for others.
      is_list: For each of the sources, whether it is a list.
      is_inside: Whether the ops are inside the functions that the node runs.
    """

    node: str
    sources: tuple[Source, ...]
    items: tuple[int, ...]
    inside: tuple[tuple[int, ...], ...]
    is_list: tuple[bool, ...]
    is_inside: bool = False


@dataclass(frozen=True)
class Taken:
    """What the guard takes of a function.

    Attributes:
      function: The function.
      checked: Tensors that must be finite, or have no NaN.
      labels: What each of them is, for messages.
      old: Values of variables from before the call, by argument name; those that are changed and used.
      kept: What a replay gets instead of running ops, in the order of the graph.
      changed: Names of the arguments that are variables and may be changed.
      variables: The arguments that are variables, by name.
      others: Names of the arguments that are other resources.
      assumes: Names of the arguments that are variables and must have a value before the call.
      inner: Of what a called function computes, that function and its own tensor.
      exchanges: Whether values of other replicas are among `kept`, which are as large as gradients.
      cannot_repeat: Why the function cannot be replayed; empty if it can.
    """

    function: Function
    checked: tuple[Source, ...]
    labels: tuple[Label, ...]
    old: Mapping[str, Source]
    kept: tuple[Kept, ...]
    changed: frozenset[str]
    variables: Mapping[str, Variable]
    others: frozenset[str]
    assumes: frozenset[str]
    inner: Mapping[Source, tuple[Function, Source]]
    exchanges: bool = False
    cannot_repeat: str = ""

    @property
    def kept_sources(self) -> list[Source]:
        """All tensors of `kept`."""
        return [source for kept in self.kept for source in kept.sources]

    @property
    def items(self) -> list[int]:
        """The dtypes of the outputs of the ops of `kept`, inside loops too."""
        return [dtype for kept in self.kept for dtype in kept.items]

    @property
    def inside(self) -> list[tuple[int, ...]]:
        """For each of `items`, the dtypes of what is in an optional."""
        return [dtypes for kept in self.kept for dtypes in kept.inside]

    @property
    def exports(self) -> list[Source]:
        """What a copy hands out besides the results of the function."""
        return [*self.checked, *self.old.values(), *self.kept_sources]


class _Does(Enum):
    """What a node does with a variable."""

    READS = 1
    ASKS = 2  # whether it has a value, or which shape
    OVERWRITES = 3
    UPDATES = 4
    CALLS = 5  # it calls a function that hands out what is taken
    MAY_CHANGE = 6  # it runs branches, loops or functions that may change it


@dataclass
class _Use:
    """One use of a variable, in the order of the graph.

    Attributes:
      node: The node.
      does: What it does.
      changes: Whether it may change the variable.
      old: For a call: the value before it, as the call hands it out.
    """

    node: NodeDef
    does: _Does
    changes: bool
    old: Source | None = None


@dataclass(frozen=True)
class Body:
    """What a function runs.

    Attributes:
      definition: Its graph, to edit.
      results: Its results, in order.
      control_outputs: Names of the nodes that run without a result.
    """

    definition: GraphDef
    results: tuple[Source, ...]
    control_outputs: tuple[str, ...]


def body_of(function: Function) -> Body:
    """Return what a function runs that still has its graph."""
    results = tuple([source_of(tensor) for tensor in function.result_tensors()])
    return Body(definition_of(function), results, function.control_outputs)


class Callees(Protocol):
    """The functions that a function calls."""

    def taken(self, name: str) -> Taken | None:
        """Return what is taken of a function; None if its inside is not known."""

    def copy(self, taken: Taken) -> str:
        """Return the name of the copy of a function that hands out `Taken.exports`."""

    def lists(self, new: GraphDef, node: NodeDef, items: list[int]) -> list[str]:
        """Let a branch or a loop return lists of what ops inside compute, of these dtypes."""


class FunctionReader:
    """Decides what is taken of one function, and edits its definition.

    Args:
      function: A function that still has its graph.
      body: What it runs, which is edited.
      callees: The functions that it calls.
      is_outermost: Whether Python calls it: then its results are checked.
      reads_variables: Whether variables are read before and after the call; False if `windows` reads them.
    """

    def __init__(
        self,
        function: Function,
        body: Body,
        callees: Callees,
        *,
        is_outermost: bool,
        reads_variables: bool = True,
    ) -> None:
        self._function = function
        self._body = body
        self._definition = definition = body.definition
        self._callees = callees
        self._is_outermost = is_outermost
        self._reads_variables = reads_variables
        self._nodes = {node.name: node for node in definition.node}
        self._variables: dict[str, Variable] = {}
        self._of_handle: dict[str, str] = {}  # argument, by the node that passes its handle on
        self._others: set[str] = set()  # other resources that are arguments, by node
        self._lists: set[str] = set()  # nodes of lists that are made inside
        self._uses: dict[str, list[_Use]] = {}
        self._checked: dict[Source, Label] = {}
        self._after: dict[str, Source] = {}  # what is checked of variables after the call, by argument
        self._kept: list[Kept] = []
        self._assumes: set[str] = set()
        self._inner: dict[Source, tuple[Function, Source]] = {}
        self._exchanges = False
        self._why_not = ""
        self._new = GraphDef()  # nodes to add

    def read(self) -> Taken:
        """Return what is taken. The definition then has the nodes for it."""
        self._read_arguments()
        live = self._live()
        for node in self._definition.node:
            if node.name in live and node.op not in _SOURCES:
                self._read_node(node)
                if node.op in HIDES:
                    self._check_hidden(node)
        if self._is_outermost:
            for index, result in enumerate(self._body.results):
                self._check(result, Label(self._function, f"result {index}", is_variable=False))
        old: dict[str, Source] = {}
        for argument, uses in self._uses.items():
            if not self._reads_variables:
                self._check_overwritten(argument, uses)
            elif any(use.changes for use in uses):
                before = self._value_before(argument, uses)
                if before is not None:
                    old[argument] = before
                self._check_after(argument, uses)
        self._definition.node.extend(self._new.node)
        self._note_told()
        changed = frozenset(name for name, uses in self._uses.items() if any(use.changes for use in uses))
        return Taken(
            self._function,
            tuple(self._checked),
            tuple(self._checked.values()),
            old,
            tuple(self._kept),
            changed,
            self._variables,
            frozenset(self._others),
            frozenset(self._assumes),
            self._inner,
            self._exchanges,
            cannot_repeat=self._why_not,
        )

    def _read_arguments(self) -> None:
        for name in self._function.inputs:
            argument = self._function.graph.get_tensor_by_name(name)
            if argument.dtype == tf.resource:
                variable = variable_of(argument)
                if variable is None:
                    self._others.add(argument.op.name)
                else:
                    self._variables[argument.op.name] = variable
                    self._of_handle[argument.op.name] = argument.op.name

    def _live(self) -> set[str]:
        """Return the names of the nodes that run: those that a result or a control output needs."""
        waiting = [result.name.partition(":")[0] for result in self._body.results]
        waiting += self._body.control_outputs
        live = set(waiting)
        while waiting:
            for name in self._nodes[waiting.pop()].input:
                node = name.removeprefix("^").partition(":")[0]
                if node not in live:
                    live.add(node)
                    waiting.append(node)
        return live

    def _read_node(self, node: NodeDef) -> None:
        inputs = [name.partition(":")[0] for name in node.input if name[0] != "^"]
        if node.op == "Identity" and inputs[0] in self._of_handle:
            self._of_handle[node.name] = self._of_handle[inputs[0]]
            return
        if node.op in CALLS:
            self._read_call(node, inputs)
            return
        if node.op in _PARTS:
            self._read_parts(node, inputs)
            return
        handles = [self._of_handle[name] for name in inputs if name in self._of_handle]
        if node.op.startswith(_EXCHANGES):
            self._exchanges = True
            self._keep(node)
        elif handles:
            self._read_variable_op(node, handles)
        elif not self._may_run_twice(node, inputs):
            self._keep(node)

    def _read_variable_op(self, node: NodeDef, handles: list[str]) -> None:
        if function_attributes(node.op) or not node.op.startswith(_OF_VARIABLES):
            self._give_up(f"the op {node.op}, which takes a variable")
        does, changes = _Does.UPDATES, node.op not in _READS
        if node.op == "AssignVariableOp":
            does = _Does.OVERWRITES
            dtype = node.attr["dtype"].type
            if self._reads_variables:
                self._check(Source(node.input[1], dtype), Label(self._function, handles[0], is_variable=True))
        elif not changes:
            does = _Does.ASKS if node.op in _ASK else _Does.READS
        for argument in dict.fromkeys(handles):
            self._use(argument, _Use(node, does, changes))

    def _read_call(self, node: NodeDef, inputs: list[str]) -> None:
        name = node.attr["f"].func.name
        taken = self._callees.taken(name)
        if taken is None or _is_compiled(node) or _is_replaceable(taken.function):
            self._read_parts(node, inputs)
            return
        parts = self._take_from_inside(node, taken)
        old = {argument: next(parts) for argument in taken.old}
        kept = tuple(parts)
        if kept:
            is_list = tuple([each for inside in taken.kept for each in inside.is_list])
            parts_of = (tuple(taken.items), tuple(taken.inside), is_list)
            self._kept.append(Kept(node.name, kept, *parts_of, is_inside=True))
        self._exchanges |= taken.exchanges
        self._why_not = self._why_not or taken.cannot_repeat
        names = [tensor.rpartition(":")[0] for tensor in taken.function.inputs]
        for inner, outer in zip(names, inputs, strict=True):
            argument = self._of_handle.get(outer)
            if argument is not None and inner in taken.variables:
                changes = inner in taken.changed
                self._use(argument, _Use(node, _Does.CALLS, changes, old.get(inner)))
                if inner in taken.assumes:
                    self._assumes.add(argument)

    def _take_from_inside(self, node: NodeDef, taken: Taken) -> Iterator[Source]:
        """Let a call hand out what is taken of its function, and check that; return the rest of it."""
        sources = self._add_results(node, taken)
        for source, export in zip(sources, taken.exports, strict=True):
            self._inner[source] = taken.inner.get(export, (taken.function, export))
        for source, label in zip(sources, taken.labels, strict=False):
            self._check(source, label)
        return iter(sources[len(taken.labels) :])

    def _add_results(self, node: NodeDef, taken: Taken) -> list[Source]:
        """Let a call run the copy of a function, and return the results that this has besides."""
        exports = taken.exports
        if not exports:
            return []
        node.attr["f"].func.name = self._callees.copy(taken)
        dtypes = node.attr["Tout"].list.type
        first = len(dtypes)
        dtypes.extend(source.dtype for source in exports)
        for shapes in ("_output_shapes", "output_shapes"):
            node.attr.pop(shapes, None)
        return [Source(source_name(node.name, first + i), each.dtype) for i, each in enumerate(exports)]

    def _read_parts(self, node: NodeDef, inputs: list[str]) -> None:
        """Read a node that runs functions which hand out nothing: branches, loops, compiled functions."""
        if node.op in _LOOPS:
            self._check_condition(node)
        changed, items, inside = set[str](), list[int](), list[tuple[int, ...]]()
        for named in functions_run_by(node):
            taken = self._callees.taken(named.name)
            if taken is None:
                self._give_up(f"the function {named.name}, whose graph is not known")
                changed.update(inputs)
            else:
                changed.update(_changed_by(node, taken, inputs))
                items += taken.items
                inside += taken.inside
                if taken.items and (node.op in CALLS or _is_condition(node, named.name)):
                    self._give_up("an op that cannot run twice, in a condition or a compiled function")
                if taken.exchanges and node.op in _LOOPS:
                    # A list would hold the gradients of each turn.
                    self._give_up("an exchange between replicas in a loop")
                self._exchanges |= taken.exchanges
                self._why_not = self._why_not or taken.cannot_repeat
        for name in dict.fromkeys(inputs):
            argument = self._of_handle.get(name)
            if argument is not None:
                self._use(argument, _Use(node, _Does.MAY_CHANGE, name in changed))
        if items and not self._why_not:
            sources = tuple([Source(name, _VARIANT) for name in self._callees.lists(self._new, node, items)])
            is_list = (True,) * len(items)
            self._kept.append(Kept(node.name, sources, tuple(items), tuple(inside), is_list, is_inside=True))

    def _check_condition(self, loop: NodeDef) -> None:
        """Check what a loop's condition took when it ended the loop: a comparison with NaN is false.

        The condition is computed once more, of what the loop returns.
        """
        taken = self._callees.taken(loop.attr["cond"].func.name)
        outputs = self._function.graph.get_operation_by_name(loop.name).outputs
        if taken is None or taken.items or _uses_resources(taken.function):
            return
        if not all(map(self._is_own, outputs)):
            return
        for name, output in zip(taken.function.inputs, outputs, strict=False):
            compared = taken.function.graph.get_tensor_by_name(name).consumers()
            if hides_nan(compared):
                self._check(source_of(output), self._hidden(loop))
        if not taken.checked:
            return
        call = NodeDef(name=f"{SCOPE}{loop.name}/condition", op="PartitionedCall")
        call.input.extend(source_name(loop.name, slot) for slot in range(len(outputs)))
        call.attr["Tin"].list.type.extend(tensor.dtype.as_datatype_enum for tensor in outputs)
        call.attr["Tout"].list.type.append(tf.bool.as_datatype_enum)
        self._take_from_inside(call, taken)
        self._new.node.append(call)

    def _may_run_twice(self, node: NodeDef, inputs: list[str]) -> bool:
        definition = op_def_registry.get(node.op)
        if definition is None:
            self._give_up(f"the function {node.op}, which is called as an op")
            return True
        if node.op.startswith(_LISTS):
            self._lists.add(node.name)
            return True
        if any(name in self._others for name in inputs):
            return node.op in _READS_TABLES
        return not definition.is_stateful or node.op in HARMLESS

    def _keep(self, node: NodeDef) -> None:
        op = self._function.graph.get_operation_by_name(node.name)
        outputs = op.outputs
        if node.op in _SHOWS:
            for tensor in _shown(op):
                what = f"what {node.op} takes"
                self._check(source_of(tensor), Label(self._function, what, is_variable=False))
        if any(tensor.dtype == tf.resource for tensor in outputs):
            self._give_up(f"the op {node.op}, which makes a resource")
        sources = tuple([source_of(tensor) for tensor in outputs])
        items = tuple([source.dtype for source in sources])
        types = tuple(node.attr["output_types"].list.type) if node.op == _OPTIONAL else ()
        self._kept.append(Kept(node.name, sources, items, (types,) * len(items), (False,) * len(items)))

    def _use(self, argument: str, use: _Use) -> None:
        self._uses.setdefault(argument, []).append(use)

    def _check(self, source: Source, label: Label) -> None:
        if tf.as_dtype(source.dtype) in MEASURED_DTYPES:
            known = self._checked.get(source)
            if known is None or (known.only_nan and not label.only_nan):
                self._checked[source] = label

    def _check_hidden(self, node: NodeDef) -> None:
        for tensor, only_nan in hidden_inputs(self._function.graph.get_operation_by_name(node.name)):
            if self._is_own(tensor):
                self._check(source_of(tensor), self._hidden(node, only_nan=only_nan))

    def _hidden(self, node: NodeDef, *, only_nan: bool = True) -> Label:
        return Label(self._function, f"what {node.op} takes", is_variable=False, only_nan=only_nan)

    def _is_own(self, tensor: TfTensor) -> bool:
        """Whether nothing outside of the function takes a tensor, and no op may add into its memory.

        One more reference to what `AddN` takes would change the sum.
        """
        results = () if self._is_outermost else self._function.result_tensors()
        is_result = tensor.name in {result.name for result in results}
        return not is_result and not is_added_into(tensor, at_least=3)

    def _value_before(self, argument: str, uses: list[_Use]) -> Source | None:
        """Return the value of a variable before the call; None if the call does not use it."""
        if self._is_table(argument, uses):
            self._give_up("a large table of which a few rows are updated")
            return None
        is_needed = False
        for position, use in enumerate(uses):
            if use.does is _Does.ASKS or (not use.changes and use.does is not _Does.READS):
                continue
            if use.does is _Does.READS and use.node.op != "ReadVariableOp":
                is_needed = True
                continue
            if use.does is _Does.READS:
                _wait(use.node.name, uses[position + 1 :])
                return Source(use.node.name, use.node.attr["dtype"].type)
            if use.old is not None:
                return use.old
            if not is_needed and use.does in (_Does.OVERWRITES, _Does.CALLS):
                return None
            if use.does is _Does.MAY_CHANGE:
                self._assumes.add(argument)
            return self._read(argument, "before", before=uses[position:])
        return None

    def _is_table(self, argument: str, uses: list[_Use]) -> bool:
        """Whether a variable is updated by rows and too large to be copied, as each read of it does."""
        is_large = self._variables[argument].size > LARGE_TABLE
        return is_large and any(use.node.op.startswith(_SPARSE) for use in uses)

    def _check_overwritten(self, argument: str, uses: list[_Use]) -> None:
        """Check what is assigned to a variable, if the next call may overwrite it: nobody sees it later."""
        is_new = uses[0].does is _Does.OVERWRITES
        if not is_new and self._variables[argument].size > _SMALL_BYTES:
            return
        for use in uses:
            if use.does is _Does.OVERWRITES:
                source = Source(use.node.input[1], use.node.attr["dtype"].type)
                self._check(source, Label(self._function, argument, is_variable=True))

    def _check_after(self, argument: str, uses: list[_Use]) -> None:
        """Check the value of a variable after the call, if nothing that is checked tells it."""
        if self._is_table(argument, uses):
            return
        variable = self._variables[argument]
        last = max(position for position, use in enumerate(uses) if use.changes)
        use = uses[last]
        if use.does in (_Does.OVERWRITES, _Does.CALLS) or variable.dtype not in MEASURED_DTYPES:
            return
        for later in uses[last + 1 :]:
            if later.node.op == "ReadVariableOp" and f"^{use.node.name}" in later.node.input:
                source = Source(later.node.name, later.node.attr["dtype"].type)
                break
        else:
            source = self._read(argument, "after", after=use.node.name)
        self._after[argument] = source
        self._check(source, Label(self._function, argument, is_variable=True))

    def _read(self, argument: str, when: str, *, before: list[_Use] | None = None, after: str = "") -> Source:
        """Add a read of a variable."""
        dtype = self._variables[argument].dtype.as_datatype_enum
        node = NodeDef(name=f"{SCOPE}{argument}/{when}", op="ReadVariableOp", input=[argument])
        node.attr["dtype"].type = dtype
        if after:
            node.input.append(f"^{after}")
        self._new.node.append(node)
        _wait(node.name, before or [])
        return Source(node.name, dtype)

    def _note_told(self) -> None:
        """Note which tensors are bad only when others that are checked are bad as well."""
        # What is only checked for NaN tells nothing of an infinity.
        all_bad = [source for source, label in self._checked.items() if not label.only_nan]
        key_of = {source: op_and_slot(source.name) for source in all_bad}
        # A function that XLA compiles computes its results inside of a call.
        results = zip(self._body.results, self._function.result_tensors(), strict=True)
        key_of |= {source: (of.op.name, of.value_index) for source, of in results if source in key_of}
        sources = {key: source for source, key in key_of.items()}
        if len(sources) < 2:
            return
        live = live_ops(self._function)
        witnesses = choose_witnesses(
            [op for op in self._function.graph.get_operations() if op in live],
            lambda tensor: (tensor.op.name, tensor.value_index) in sources,
            {name: key_of[source] for name, source in self._assigned()},
            needs_shapes=True,
        )
        for key, chosen in witnesses.items():
            if chosen != (key,):
                self._checked[sources[key]] = self._checked[sources[key]]._replace(is_told=True)

    def _assigned(self) -> Iterator[tuple[str, Source]]:
        """Yield each op that alone changes a variable, with what is checked of it after the call."""
        for name in self._function.inputs:
            source = self._after.get(name.partition(":")[0])
            if source is None:
                continue
            uses = self._function.graph.get_tensor_by_name(name).consumers()
            changes = [op for op in uses if op.type not in _READS]
            if len(changes) == 1 and changes[0].type in ASSIGNMENTS:
                yield changes[0].name, source

    def _give_up(self, reason: str) -> None:
        self._why_not = self._why_not or reason


def _uses_resources(function: Function) -> bool:
    arguments = [function.graph.get_tensor_by_name(name) for name in function.inputs]
    return any(tensor.dtype == tf.resource and tensor.consumers() for tensor in arguments)


def _wait(read: str, uses: list[_Use]) -> None:
    """Let the nodes that may change a variable wait for a read, unless they do."""
    for use in uses:
        if use.changes and f"^{read}" not in use.node.input:
            use.node.input.append(f"^{read}")


def variable_of(argument: TfTensor) -> Variable | None:
    """Return the variable that an argument is; None if it is another resource."""
    data = handle_data_util.get_resource_handle_data(argument)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    (part,) = data.shape_and_type
    return Variable(tf.as_dtype(part.dtype), tf.TensorShape(part.shape))


def _shown(op: TfOp) -> list[TfTensor]:
    """Return what an op shows; of a text, the tensors that it is made of."""
    return [
        shown
        for tensor in op.inputs
        for shown in (tensor.op.inputs if tensor.op.type in _TO_TEXT else (tensor,))
    ]


def source_of(tensor: TfTensor) -> Source:
    """Return a tensor of a graph, for its definition."""
    return Source(source_name(tensor.op.name, tensor.value_index), tensor.dtype.as_datatype_enum)


def functions_run_by(node: NodeDef) -> list[NameAttrList]:
    """Return the functions that a node names, in the order of the attributes of its op."""
    return [
        named for attribute in function_attributes(node.op) for named in functions_of(node.attr[attribute])
    ]


def _changed_by(node: NodeDef, taken: Taken, inputs: list[str]) -> list[str]:
    """Return the inputs of a node that a function which it runs may change; of branches and loops, all."""
    if node.op not in CALLS:
        return inputs if taken.changed else []
    names = [tensor.rpartition(":")[0] for tensor in taken.function.inputs]
    return [outer for inner, outer in zip(names, inputs, strict=True) if inner in taken.changed]


def _is_condition(node: NodeDef, name: str) -> bool:
    return any(key == "cond" and value.func.name == name for key, value in node.attr.items())


def _is_compiled(node: NodeDef) -> bool:
    # Not by its key, which would add the attribute.
    return any(name == attributes.XLA_COMPILE and value.b for name, value in node.attr.items())


def _is_replaceable(function: Function) -> bool:
    values = [value for name, value in function.attrs.items() if name in _REPLACEABLE]
    return any(value.b or value.WhichOneof("value") != "b" for value in values)
