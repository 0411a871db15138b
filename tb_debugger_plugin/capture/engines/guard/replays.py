"""Runs bad calls again, with watch ops.

A replay runs a copy of the function that is watched in full. Variables that the call changes are variables of
its own, which hold the values from before the call; what cannot run twice is not run, and its results are
those of the call. So the replay changes nothing of the program, and its records are those that the call would
have had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.eager.polymorphic_function import attributes
from tensorflow.python.ops import gen_list_ops, gen_resource_variable_ops

from tb_debugger_plugin.capture.engines.guard.copies import Guarded, argument_names
from tb_debugger_plugin.capture.engines.guard.replay_copies import Edited, ReplayCopies
from tb_debugger_plugin.capture.engines.guard.taken import Taken, Variable
from tb_debugger_plugin.capture.engines.instrument import instrumented, note_unrecorded, record_constants
from tb_debugger_plugin.capture.engines.plain import PlainFunctions
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.tf_types import EagerTensor

#: Runs a function of the runtime: its name, its inputs, the number of its results; without any, returns None.
CallFunction = Callable[[bytes, list[EagerTensor], int], Sequence[EagerTensor] | None]


class Replays:
    """The replays of one recording.

    Args:
      plain: Plans which tensors are watched.
      sink: Makes the watch ops.
      graphs: Writes the graphs.
      functions: The functions of the program.
      taken: Returns what a guard takes of a function that another one calls.
      call: Runs a function.
    """

    def __init__(
        self,
        plain: PlainFunctions,
        sink: Sink,
        graphs: GraphRecords,
        functions: FunctionTable,
        taken: Callable[[str], Taken | None],
        call: CallFunction,
    ) -> None:
        self._plain = plain
        self._sink = sink
        self._graphs = graphs
        self._functions = functions
        self._copies = ReplayCopies(functions, taken, self._watched, "replayed")
        self._call = call

    def run(
        self, guarded: Guarded, held: Sequence[EagerTensor], inputs: Sequence[EagerTensor] | None = None
    ) -> Sequence[EagerTensor]:
        """Run a bad call again; return its results.

        Args:
          guarded: Its function.
          held: What is held of it, in the order of `Guarded.held`.
          inputs: Its inputs; only resources of them are used. None if it has no resources.

        Raises:
          Exception: The replay cannot be defined, or fails.
        """
        name = self.define(guarded.taken)
        arguments = arguments_of(guarded, held, inputs)
        return self._call(name.encode(), arguments, len(guarded.taken.function.outputs)) or []

    def define(self, taken: Taken) -> str:
        """Define the copy that replays run, and write its graphs; return its name.

        Raises:
          Exception: TensorFlow refuses the copy.
        """
        made = self._copies.get(taken.function)
        if made is not None:
            return made
        for called in self._copies.with_callees(taken.function):
            self._graphs.announce(called.name, called.graph)
        self._add_forward(taken.function)
        return self._copies.define(taken.function, taken)

    def _add_forward(self, function: Function) -> None:
        """Write the graph that a function is the gradient of: ops of a gradient have the lines of its ops."""
        named = function.attrs.get(attributes.FORWARD_FUNCTION)
        forward = None if named is None else self._functions.all.get(named.s.decode())
        graph = None if forward is None else forward.graph_of()
        if forward is not None and graph is not None:
            self._graphs.announce(forward.name, graph)
            self._graphs.add(graph)

    def _watched(self, function: Function) -> Edited:
        known = self._graphs.add(function.graph)
        plan = self._plain.plan(function, known)
        record_constants(plan, known, self._sink)
        note_unrecorded(plan, known, self._sink)
        parts = instrumented(function, known, plan, self._sink, self._functions.all.get)
        return Edited(*parts, known.stacks)


def arguments_of(
    guarded: Guarded, held: Sequence[EagerTensor], inputs: Sequence[EagerTensor] | None
) -> list[EagerTensor]:
    """Return the arguments of a copy that runs a call again; see `Replays.run`.

    Variables that the call changes are new ones.
    """
    taken = guarded.taken
    rest = iter(_with_reversed_lists(guarded, list(held)))
    values = dict(zip((*guarded.arguments, *taken.old), rest, strict=False))
    names = argument_names(taken.function)
    given = {} if inputs is None else dict(zip(names, inputs, strict=True))
    arguments = [
        new_variable(taken.variables[argument], values.get(argument))
        if argument in taken.changed
        else (values if argument in values else given)[argument]
        for argument in names
    ]
    return [*arguments, *rest]


def held_by(guarded: Guarded, number: int) -> list[EagerTensor]:
    """Return what the guard holds of a bad call, in the order of `Guarded.held`."""
    return held_values(number, [source.dtype for source in guarded.held])


def held_values(number: int, dtypes: Sequence[int]) -> list[EagerTensor]:
    """Return what the guard holds of a bad call, by its number."""
    attrs = ("Theld", tuple(dtypes), "call", number)
    runtime = context.context()
    return list(execute.quick_execute("TbDebuggerHeld", len(dtypes), [], attrs, runtime))


def _with_reversed_lists(guarded: Guarded, held: list[EagerTensor]) -> list[EagerTensor]:
    """Return what was held, with lists that begin at the end: a replay takes their last tensors."""
    items = guarded.taken.items
    is_list = [each for kept in guarded.taken.kept for each in kept.is_list]
    first = len(held) - len(items)
    for index, dtype in enumerate(items):
        if is_list[index]:
            held[first + index] = _reversed(held[first + index], tf.as_dtype(dtype))
    return held


def _reversed(tensors: EagerTensor, dtype: tf.DType) -> EagerTensor:
    turned: EagerTensor = gen_list_ops.empty_tensor_list(-1, -1, dtype)
    for _ in range(int(gen_list_ops.tensor_list_length(tensors))):
        tensors, last = gen_list_ops.tensor_list_pop_back(tensors, -1, dtype)
        turned = gen_list_ops.tensor_list_push_back(turned, last)
    return turned


def new_variable(variable: Variable, value: EagerTensor | None) -> EagerTensor:
    """Return the handle of a new variable, which is freed with the handle."""
    handle: EagerTensor = gen_resource_variable_ops.var_handle_op(
        dtype=variable.dtype, shape=variable.shape, shared_name=context.anonymous_name()
    )
    if value is not None:
        gen_resource_variable_ops.assign_variable_op(handle, value)
    return handle
