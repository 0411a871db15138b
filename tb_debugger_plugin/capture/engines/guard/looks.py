"""Adds looks to a function: what they find before variables are updated decides whether old values are held.

```
what goes into updates ──► looks ──► hold ──► if ──► updates ──► looks, at every few calls
results, comparisons ──┘                      │ old values, or nothing        │
                                              └──────────────► guard ◄────────┘
```

`look_first` decides where; `TbDebuggerLook` and `TbDebuggerHold` of `native/src/guard_op.cc` look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import IntEnum

import tensorflow as tf

from tb_debugger_plugin.capture.engines.guard.look_first import LookFirst
from tb_debugger_plugin.capture.engines.guard.taken import SCOPE, Label, Source, Taken
from tb_debugger_plugin.capture.graph.copies import Copies
from tb_debugger_plugin.capture.graph.definitions import source_name
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.tf_types import GraphDef, NodeDef
from tb_debugger_plugin.events.tensorflow_names import op_and_slot

_HOLD = f"{SCOPE}hold"
_IF = f"{SCOPE}hold_if"
_INT32: int = tf.int32.as_datatype_enum
_DEVICE = "/device:CPU:0"
#: Tensors of fewer elements are looked at by one op; others as soon as they are computed.
_FEW = 4096


class _LookFor(IntEnum):
    """What a look looks for: `LookFor` of `native/src/guard_op.cc`."""

    FINITE = 0
    NAN = 1
    SMALL = 2
    NOT_NEGATIVE = 3


class CannotLookFirstError(Exception):
    """A function has something that no look before the updates sees."""


class LateHolds:
    """The old values of one guarded function that are held only if something was found.

    Args:
      first: Where the guard looks first.
      site: Number of the guard.
      copies: Defines functions.
    """

    def __init__(self, first: LookFirst, site: int, copies: Copies) -> None:
        self.first = first
        self.site = site
        self._copies = copies

    def old(self, function: Function) -> dict[str, Source]:
        """Return the old values by the arguments of a function; nothing if another one updates variables."""
        if function.name != self.first.path[-1]:
            return {}
        return {
            argument: Source(source_name(_IF, number), variable.dtype.as_datatype_enum)
            for number, (argument, variable) in enumerate(self.first.variables.items())
        }

    def with_looks(self, taken: Taken, definition: GraphDef) -> Taken:
        """Add the looks to the definition of a function, or pass those on that a called function has.

        Raises:
          CannotLookFirstError: No look would see something that is checked.
        """
        if taken.function.name == self.first.path[-1]:
            looks = _Looks(self.first, taken, definition)
            found = looks.add(self.site, self._branches(taken.function))
            taken = replace(taken, looks=found)
        else:
            _require_seen(taken, definition)
        labels = tuple([label._replace(is_told=True) for label in taken.labels])
        return replace(taken, labels=labels)

    def _branches(self, function: Function) -> tuple[str, str]:
        """Define the functions that give old values, and nothing."""
        arguments = [f"variable_{number}" for number in range(len(self.first.variables))]
        held, nothing = GraphDef(), GraphDef()
        for name, variable in zip(arguments, self.first.variables.values(), strict=True):
            dtype = variable.dtype.as_datatype_enum
            for definition in (held, nothing):
                argument = definition.node.add(name=name, op="Placeholder")
                argument.attr["dtype"].type = tf.resource.as_datatype_enum
            read = held.node.add(name=f"{name}/value", op="ReadVariableOp", input=[name])
            read.attr["dtype"].type = dtype
            empty = nothing.node.add(name=f"{name}/value", op="Const")
            empty.attr["dtype"].type = dtype
            empty.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([], variable.dtype, shape=[0]))
        outputs = [f"{name}/value" for name in arguments]
        of_function = f"{function.name}_guarded"
        return (
            self._copies.define_new(f"{of_function}_held", held, arguments, outputs=outputs),
            self._copies.define_new(f"{of_function}_nothing", nothing, arguments, outputs=outputs),
        )


class _Looks:
    """Adds the looks to a function.

    Args:
      first: Where to look.
      taken: What the guard takes of the function.
      definition: Its definition, with the nodes for that.
    """

    def __init__(self, first: LookFirst, taken: Taken, definition: GraphDef) -> None:
        self._first = first
        self._taken = taken
        self._definition = definition
        self._nodes = {node.name: node for node in definition.node}
        self._after = _run_after(first.waiting, definition)
        self._num_looks = 0
        if {name for name in self._after if not name.startswith(SCOPE)} != first.after:
            raise CannotLookFirstError("the guard orders its ops otherwise")

    def add(self, site: int, branches: tuple[str, str]) -> tuple[Source, ...]:
        """Add all nodes; return what the guard takes of them."""
        before = dict[tuple[Source, _LookFor], None]()
        after = dict[tuple[Source, _LookFor], None]()
        sizes = dict[Source, int | None]()
        for source, label in zip(self._taken.checked, self._taken.labels, strict=True):
            early = self._before(source)
            sizes[early or source] = self._num_elements(source, label)
            look_for = _LookFor.NAN if label.only_nan else _LookFor.FINITE
            if early is None:
                positive = label.is_variable and label.what in self._first.not_negative
                after[source, _LookFor.NOT_NEGATIVE if positive else look_for] = None
            else:
                before[early, look_for] = None
        for source in self._first.looked_at:
            if (source, _LookFor.FINITE) not in before:
                before[source, _LookFor.SMALL] = None
            sizes[source] = self._num_elements(source)
        hold = self._node(_HOLD, "TbDebuggerHold", self._looks(before, sizes, []))
        hold.attr["site"].i = site
        self._hold_if(branches)
        found, look = (Source(source_name(_HOLD, slot), _INT32) for slot in (1, 2))
        return (found, look, *self._looks(after, sizes, [look]))

    def _before(self, source: Source) -> Source | None:
        """Return the tensor, or what it is an identity of, if that is computed before updates."""
        while (node := self._nodes[source.name.partition(":")[0]]).name in self._after:
            if node.op != "Identity":
                return None
            source = Source(node.input[0], source.dtype)
        return source

    def _num_elements(self, source: Source, label: Label | None = None) -> int | None:
        op, slot = op_and_slot(source.name)
        if label is not None and label.is_variable and label.what in self._taken.variables:
            return _num_elements(self._taken.variables[label.what].shape)
        graph = self._taken.function.graph
        if op.startswith(SCOPE) or source in self._taken.inner:
            return None
        return _num_elements(graph.get_operation_by_name(op).outputs[slot].shape)

    def _looks(
        self,
        looks: Iterable[tuple[Source, _LookFor]],
        sizes: Mapping[Source, int | None],
        only_if: list[Source],
    ) -> list[Source]:
        """Add looks: for large tensors one each, and one for all others of a kind."""
        groups = dict[_LookFor, list[Source]]()
        found = []
        for source, look_for in looks:
            size = sizes[source]
            if size is not None and size < _FEW:
                groups.setdefault(look_for, []).append(source)
            else:
                found.append(self._look([source], look_for, only_if))
        return [*found, *(self._look(sources, look_for, only_if) for look_for, sources in groups.items())]

    def _look(self, sources: list[Source], look_for: _LookFor, only_if: list[Source]) -> Source:
        self._num_looks += 1
        node = self._definition.node.add(
            name=f"{SCOPE}look_{self._num_looks}", op="TbDebuggerLook", device=_DEVICE
        )
        node.input.extend(source.name for source in (*sources, *only_if))
        node.attr["T"].list.type.extend(source.dtype for source in sources)
        node.attr["N"].i = len(only_if)
        node.attr["num_tensors"].i = len(sources)
        node.attr["look_for"].i = look_for
        return Source(node.name, _INT32)

    def _node(self, name: str, op: str, inputs: Iterable[Source]) -> NodeDef:
        node = self._definition.node.add(name=name, op=op, device=_DEVICE)
        node.input.extend(source.name for source in inputs)
        node.attr["N"].i = len(node.input)
        return node

    def _hold_if(self, branches: tuple[str, str]) -> None:
        """Read the variables if they are to be held, and let what changes them wait for that."""
        variables = self._first.variables
        node = self._definition.node.add(name=_IF, op="If", input=[_HOLD, *variables])
        node.attr["Tcond"].type = tf.bool.as_datatype_enum
        node.attr["Tin"].list.type.extend([tf.resource.as_datatype_enum] * len(variables))
        node.attr["Tout"].list.type.extend(variable.dtype.as_datatype_enum for variable in variables.values())
        node.attr["then_branch"].func.name, node.attr["else_branch"].func.name = branches
        for name in self._first.waiting:
            self._nodes[name].input.append(f"^{_IF}")


def _num_elements(shape: tf.TensorShape) -> int | None:
    number: int | None = shape.num_elements()
    return number


def _run_after(names: Iterable[str], definition: GraphDef) -> set[str]:
    """Return the names of nodes, and of all that take something of them or wait for them."""
    users: dict[str, list[str]] = {}
    for node in definition.node:
        for name in node.input:
            users.setdefault(name.removeprefix("^").partition(":")[0], []).append(node.name)
    after = set(names)
    waiting = list(after)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in after:
                after.add(user)
                waiting.append(user)
    return after


def _require_seen(taken: Taken, definition: GraphDef) -> None:
    """Require that what a function checks is what a call hands out whose function looks first."""
    if not taken.looks:
        raise CannotLookFirstError("the function that updates variables is called in another way")
    call = op_and_slot(taken.looks[0].name)[0]
    nodes = {node.name: node for node in definition.node}
    for source in taken.checked:
        op = op_and_slot(source.name)[0]
        while nodes[op].op == "Identity":
            op = op_and_slot(nodes[op].input[0])[0]
        if op != call:
            raise CannotLookFirstError(f"{source.name} is not of the call that updates variables")
