"""Defines the guarded copies of functions.

The copy of a function that Python calls ends in one op, which takes what `taken` chooses there and in the
functions that it calls. Copies of those hand out theirs as further results. Of a function that XLA compiles,
the copy calls the program's own and takes what is outside of it, so XLA compiles what it compiled before. The
runtime keeps the program's definitions under their own names, so functions that are called by others cost
nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Final, NamedTuple

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.engines.guard.lists import (
    add_arguments,
    add_lists,
    append,
    empty_list,
    through_node,
)
from tb_debugger_plugin.capture.engines.guard.taken import (
    SCOPE,
    Body,
    FunctionReader,
    Label,
    Source,
    Taken,
    body_of,
    variable_of,
)
from tb_debugger_plugin.capture.engines.xla.magnitudes import Nodes
from tb_debugger_plugin.capture.graph.definitions import (
    Changes,
    define,
    definition_of,
    make_savable,
    source_name,
)
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import AttrValue, GraphDef, NameAttrList, NodeDef
from tb_debugger_plugin.events.tensorflow_names import op_and_slot

_log = logging.getLogger("tb_debugger_plugin")
#: From this many bytes of variables on, a call takes longer if their old values are held.
WORTH_IT: Final = 8 << 20
_GUARD = f"{SCOPE}guard"
_CALL = f"{SCOPE}call"


class Followed(NamedTuple):
    """A tensor of the program whose numbers a guard keeps: a result, or what a variable had before a call.

    Attributes:
      number: The input of the guard that it is.
      function: The function that computes it.
      op: The op there.
      slot: Number of the output.
    """

    number: int
    function: Function
    op: str
    slot: int


@dataclass(frozen=True)
class Guarded:
    """A function whose calls are guarded.

    Attributes:
      name: Name of the guarded copy in the runtime.
      site: Number of its guard.
      taken: What the guard takes.
      held: What the guard holds: arguments, old values of variables, results of ops that a replay does not
        run. Empty if the function cannot be replayed.
      arguments: Names of the arguments that are held.
      followed: What the guard keeps numbers of.
      in_window: Whether a window holds all that instead of the guard (`windows`): the copy then also returns
        the results of ops that a replay does not run.
    """

    name: str
    site: int
    taken: Taken
    held: tuple[Source, ...]
    arguments: tuple[str, ...]
    followed: tuple[Followed, ...]
    in_window: bool = False

    def is_held(self, number: int) -> bool:
        """Whether an input of the guard, by number, is from before the call."""
        return number >= len(self.taken.checked)

    def label(self, number: int) -> Label:
        """Return what an input of the guard is."""
        checked, function = len(self.taken.checked), self.taken.function
        if number < checked:
            return self.taken.labels[number]
        held = [
            *(Label(function, f"the argument {name}", is_variable=False) for name in self.arguments),
            *(Label(function, name, is_variable=True) for name in self.taken.old),
        ]
        last = Label(function, "what an op computed that does not run twice", is_variable=False)
        return [*held, last][min(number - checked, len(held))]


class GuardedCopies:
    """Defines guarded copies.

    Args:
      functions: The functions of the program.
      module: The native library.
      max_held_bytes: The most that a call may hold.
    """

    def __init__(self, functions: FunctionTable, module: ModuleType, max_held_bytes: int) -> None:
        self._functions = functions
        self._module = module
        self._max_held_bytes = max_held_bytes
        self._taken: dict[tuple[str, bool], Taken | None] = {}  # also by whether variables are read
        self._reads_variables = True  # of the function that is being guarded
        self._bodies: dict[str, Body] = {}

    def guard(
        self, function: Function, *, in_place: bool = False, may_window: bool = False
    ) -> Guarded | None:
        """Define the guarded copy of a function; return None if it has nothing to check.

        Args:
          function: A function that Python calls, and that still has its graph.
          in_place: Whether to give the function itself the definition of the copy, as that of an input
            pipeline. Then the guard holds all arguments; a function that cannot be replayed gets none.
          may_window: Whether Python may hold what a replay needs, if the function changes large variables.

        Raises:
          Exception: TensorFlow refuses the copy.
        """
        try:
            if may_window:
                try:
                    guarded = self._guard_in_window(function)
                except Exception as error:  # the guard holds what it needs then
                    _log.debug("The last calls of %s are not kept:", function.name, exc_info=error)
                    guarded = None
                if guarded is not None:
                    return guarded
                self._reads_variables = True
                self._bodies.clear()
            return self._guard(function, in_place=in_place)
        finally:
            self._reads_variables = True
            self._bodies.clear()

    def _guard_in_window(self, function: Function) -> Guarded | None:
        """Define a copy that reads no variables; None if those are small, or if no call can run again."""
        arguments = [variable_of(function.graph.get_tensor_by_name(name)) for name in _resources(function)]
        size = sum(variable.size for variable in arguments if variable is not None)
        if size < WORTH_IT or len(tf.config.list_logical_devices()) != 1:
            return None
        plain = body_of(function)
        body = _compiled_body(function, plain) if function.is_compiled else plain
        self._reads_variables = False
        taken = FunctionReader(function, body, self, is_outermost=True, reads_variables=False).read()
        changed = {name: taken.variables[name] for name in argument_names(function) if name in taken.changed}
        old = {name: Source("", variable.dtype.as_datatype_enum) for name, variable in changed.items()}
        taken = self._within_limit(replace(taken, old=old))
        size = sum(variable.size for variable in changed.values())
        if taken.cannot_repeat or taken.exchanges or size < WORTH_IT:
            return None
        return self._define(function, plain, body, taken, in_window=True)

    def _guard(self, function: Function, *, in_place: bool) -> Guarded | None:
        plain = body_of(function)
        body = _compiled_body(function, plain) if function.is_compiled else plain
        taken = FunctionReader(function, body, self, is_outermost=True).read()
        if in_place and (taken.variables or taken.cannot_repeat):
            return None  # its calls could not be replayed
        return self._define(function, plain, body, self._within_limit(taken), in_place=in_place)

    def _define(
        self,
        function: Function,
        plain: Body,
        body: Body,
        taken: Taken,
        *,
        in_place: bool = False,
        in_window: bool = False,
    ) -> Guarded | None:
        """Define a guarded copy; return None if it has nothing to check."""
        definition = body.definition
        # Python has the resources of a call, but those of a pipeline only the pipeline.
        of_python = {*taken.variables, *(() if in_place else taken.others)}
        arguments = [name for name in argument_names(function) if name not in of_python]
        dtypes = {node.name: node.attr["dtype"].type for node in definition.node if node.name in arguments}
        taken = _in_order(taken, in_pipeline=in_place)
        if not (taken.checked or in_window):
            return None
        held: list[Source] = []
        if not taken.cannot_repeat:
            held = [Source(name, dtypes[name]) for name in arguments]
            held += [*taken.old.values(), *taken.kept_sources]
        results = dict(zip(body.results, plain.results, strict=True))
        is_recorded = not (in_place or taken.cannot_repeat)
        of_guard = [] if in_window else held
        followed = tuple(_followed(taken, of_guard, results)) if is_recorded else ()
        numbers = tuple([one.number for one in followed])
        definition.node.append(self._node(taken, of_guard, numbers, in_pipeline=in_place))
        site = definition.node[-1].attr["site"].i
        moved = {old.name: new.name for new, old in results.items()}
        attrs = {key: value for key, value in function.attrs.items() if key != attributes.XLA_COMPILE}
        like = replace(function, attrs=attrs, control_outputs=body.control_outputs)
        more = [source.name for source in taken.kept_sources] if in_window else []
        changes = Changes(moved=moved, run=[_GUARD], more_outputs=more)
        name = function.name
        if in_place:
            make_savable(definition)
            define(like, definition, changes)
        else:
            copies, name = self._functions.copies, f"{name}_guarded"
            name = copies.define(name, like, definition, changes, has_stacks=False)
        given = tuple(arguments if held else ())
        return Guarded(name, site, taken, tuple(held), given, followed, in_window)

    def _find(self, name: str) -> Function | None:
        function = self._functions.all.get(name)
        return None if function is None or function.graph_of() is None else function

    def _within_limit(self, taken: Taken) -> Taken:
        size = sum(taken.variables[name].size for name in taken.old)
        if taken.cannot_repeat or size <= self._max_held_bytes:
            return taken
        why = f"{size / 1e6:,.3g} MB of variables, above max_held_bytes"
        return replace(taken, cannot_repeat=why)

    def _node(
        self, taken: Taken, held: list[Source], followed: tuple[int, ...], *, in_pipeline: bool
    ) -> NodeDef:
        inputs = [*taken.checked, *held]
        node = NodeDef(name=_GUARD, op="TbDebuggerGuard", device="/device:CPU:0")
        node.input.extend(source.name for source in inputs)
        node.attr["Tchecked"].list.type.extend(source.dtype for source in taken.checked)
        node.attr["Theld"].list.type.extend(source.dtype for source in held)
        dtypes = tuple([source.dtype for source in inputs])
        limit = self._max_held_bytes
        num_told = sum(label.is_told for label in taken.labels)
        num_nan = sum(label.only_nan and not label.is_told for label in taken.labels)
        node.attr["site"].i = self._module.add_guard_site(
            len(taken.checked), num_nan, num_told, dtypes, followed, limit, in_pipeline
        )
        return node

    def taken(self, name: str) -> Taken | None:
        """Return what is taken of a function that another one calls; None if its inside is not known."""
        key = name, self._reads_variables
        if key not in self._taken:
            self._taken[key] = None  # a function may call itself
            function = self._find(name)
            if function is not None:
                self._taken[key] = self._read(function)
        return self._taken[key]

    def _read(self, function: Function) -> Taken:
        """Read a function that another one calls, and keep its edited definition."""
        body = self._bodies[function.name] = body_of(function)
        reads = self._reads_variables
        return FunctionReader(function, body, self, is_outermost=False, reads_variables=reads).read()

    def copy(self, taken: Taken) -> str:
        """Return the name of the copy of a function that hands out `Taken.exports`."""
        function, copies = taken.function, self._functions.copies
        name = f"{function.name}_guarded_inside"
        if not self._reads_variables:
            name = f"{function.name}_guarded_light"
        made = copies.get(name)
        if made is not None:
            return made
        if function.name not in self._bodies:  # another function has called it before
            self._read(function)
        changes = Changes(more_outputs=[source.name for source in taken.exports])
        definition = self._bodies[function.name].definition
        return copies.define(name, function, definition, changes, has_stacks=False)

    def lists(self, new: GraphDef, node: NodeDef, items: list[int]) -> list[str]:
        """Let a branch or a loop return lists of what ops inside compute, of these dtypes."""
        nodes = Nodes(new, f"{SCOPE}{node.name}/")
        return through_node(node, [empty_list(nodes, dtype) for dtype in items], self)

    def find(self, name: str) -> Taken | None:
        """Return what is taken of a function; see `lists.Parts`."""
        return self.taken(name)

    def with_lists(self, taken: Taken, before: int = 0, after: int = 0) -> str:
        """Return the name of the copy that appends to lists; see `lists.Parts`."""
        name = f"{taken.function.name}_guarded_lists_{before}_{after}"
        made = self._functions.copies.get(name)
        if made is not None:
            return made
        definition = definition_of(taken.function)
        changes = add_lists(definition, taken, self, append, before, after)
        return self._functions.copies.define(name, taken.function, definition, changes, has_stacks=False)

    def with_ignored_lists(self, taken: Taken, number: int) -> str:
        """Return the name of the copy of a condition; see `lists.Parts`."""
        name = f"{taken.function.name}_guarded_condition_{number}"
        made = self._functions.copies.get(name)
        if made is not None:
            return made
        definition = definition_of(taken.function)
        changes = Changes(more_inputs=add_arguments(definition, number))
        return self._functions.copies.define(name, taken.function, definition, changes, has_stacks=False)


def argument_names(function: Function) -> list[str]:
    """Return the names of the arguments of a function, as ops of its graph."""
    return [tensor.rpartition(":")[0] for tensor in function.inputs]


def _resources(function: Function) -> list[str]:
    inputs = [function.graph.get_tensor_by_name(name) for name in function.inputs]
    return [argument.name for argument in inputs if argument.dtype == tf.resource]


def _in_order(taken: Taken, *, in_pipeline: bool) -> Taken:
    """Return the same with what the guard only looks for NaN in after the others, and what they tell of last.

    A pipeline may compare to leave elements out, so what it only looks for NaN in is left out there.
    """
    checked = dict(zip(taken.checked, taken.labels, strict=True))
    if in_pipeline:
        checked = {source: label for source, label in checked.items() if not label.only_nan}
    order = sorted(checked, key=lambda source: (checked[source].is_told, checked[source].only_nan))
    return replace(taken, checked=tuple(order), labels=tuple([checked[source] for source in order]))


def _followed(taken: Taken, held: Sequence[Source], results: Mapping[Source, Source]) -> Iterator[Followed]:
    """Yield what a guard keeps numbers of: what the program itself computes, with a health.

    Args:
      taken: What the guard takes.
      held: What it holds, behind what it checks.
      results: The results of the function, by those of what it runs.
    """
    wanted = {*results, *taken.old.values()}
    for number, source in enumerate((*taken.checked, *held)):
        if source not in wanted or tf.as_dtype(source.dtype) not in MEASURED_DTYPES:
            continue
        wanted.remove(source)
        function, own = taken.inner.get(source, (taken.function, results.get(source, source)))
        op, slot = op_and_slot(own.name)
        if not op.startswith(SCOPE):
            yield Followed(number, function, op, slot)


def _compiled_body(function: Function, plain: Body) -> Body:
    """Return a call of a function that XLA compiles: nothing of what XLA compiles changes."""
    by_name = {node.name: node for node in plain.definition.node}
    arguments = [by_name[name] for name in argument_names(function)]
    call = NodeDef(name=_CALL, op="StatefulPartitionedCall", input=[node.name for node in arguments])
    call.attr["f"].CopyFrom(AttrValue(func=NameAttrList(name=function.name)))
    call.attr["Tin"].list.type.extend(node.attr["dtype"].type for node in arguments)
    call.attr["Tout"].list.type.extend(result.dtype for result in plain.results)
    call.attr[attributes.XLA_COMPILE].b = True
    results = [Source(source_name(_CALL, slot), one.dtype) for slot, one in enumerate(plain.results)]
    definition = GraphDef(versions=plain.definition.versions, node=[*arguments, call])
    return Body(definition, tuple(results), (_CALL,))
