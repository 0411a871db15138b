"""Functions that XLA compiles, recorded.

XLA has no kernel for our ops. So the definition of such a function becomes a shell: it calls a copy, which
XLA compiles as it would have compiled the function, and which hands over, behind the results, the largest
magnitudes of tensors (`copies`); one op behind the call records them (`shells`). What the
copy calls are copies too. Decided here: which tensors are recorded, and which are measured for that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

import tensorflow as tf

from tb_debugger_plugin.capture.functions.copies import Copies
from tb_debugger_plugin.capture.functions.definitions import source_name
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.functions.user_names import name_of
from tb_debugger_plugin.capture.graphs import KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import COUNTING_MODES, MEASURED_DTYPES, Options
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tb_debugger_plugin.capture.watching.instrument import record_constants, watched_tensor
from tb_debugger_plugin.capture.watching.plan import Planned, live_ops, make_plan
from tb_debugger_plugin.capture.watching.ways import Way
from tb_debugger_plugin.capture.xla.bodies import Body, Looks
from tb_debugger_plugin.capture.xla.layout import body_of
from tb_debugger_plugin.capture.xla.magnitudes import kind_of
from tb_debugger_plugin.capture.xla.repeating import state_of
from tb_debugger_plugin.capture.xla.shells import CALL, Shells
from tb_debugger_plugin.capture.xla.vouching import Key, equals, infinite, vouchers
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Behind the names of copies that hand over all tensors, of those that hand over the vouchers, and of those
#: that count the bad elements of all tensors.
_EVERY, _VOUCHED, _COUNTED = "_compiled", "_vouched", "_counted"
#: Modes that say something of a tensor without looking at its elements.
_WITHOUT_ELEMENTS = (TensorDebugMode.NO_TENSOR, TensorDebugMode.SHAPE)


class CompiledFunctions:
    """The functions of one recording that XLA compiles.

    Args:
      options: What the user wants recorded.
      sink: Makes the node that records.
      add: Adds the graph of a function to those of the recording.
      find: Gives the function of a name; None when it is none of the program's, or is not watched.
      copies: Takes the copies.
      not_recorded: Takes the functions of which some tensors cannot be recorded.
    """

    def __init__(
        self,
        options: Options,
        sink: NativeSink,
        add: Callable[[Function], KnownGraph],
        find: Callable[[str], Function | None],
        copies: Copies,
        not_recorded: NotRecorded,
    ) -> None:
        self._options = options
        self._sink = sink
        self._add = add
        self._find = find
        self._shells = Shells(sink, copies)
        self._not_recorded = not_recorded

    def watch(self, function: Function) -> bool:
        """Give the runtime a definition of a compiled function that records what is in it.

        Returns:
          Whether there is anything to record; if not, the definition stays as it is.

        Raises:
          Exception: Something did not work; the runtime still has the old definition.
        """
        planned = {function.name: self._items(function)}
        sources = self._seen_whole(function, planned[function.name])
        whole = {key: place for place, key in enumerate(sources)}
        state = None if self._options.mode in _WITHOUT_ELEMENTS else state_of(function, self._find)
        body = self._body(_EVERY if state is None else _VOUCHED, function, planned, whole, {})
        self._say_what_is_left_out(body, planned)
        if not body.tensors:
            return False
        if state is not None and body.doubtful:
            again = self._body(_COUNTED if self._in_numbers else _EVERY, function, planned, whole, {})
            self._shells.define_vouched(body, again, list(sources.values()), state)
        else:
            self._shells.define(body, list(sources.values()))
        return True

    def _say_what_is_left_out(self, body: Body, planned: Mapping[str, Mapping[Key, Planned]]) -> None:
        """Say which functions, the compiled one or parts of it, have tensors that are not handed over."""
        recorded = {(each.tensor.graph_id, each.tensor.op_name, each.tensor.slot) for each in body.tensors}
        for name, items in planned.items():
            part = body.function if name == body.function.name else self._find(name)
            assert part is not None, "its tensors are known"
            known = self._add(part)
            left_out = [
                op_name
                for (op_name, slot), item in items.items()
                if item.tensor.dtype in MEASURED_DTYPES and (known.graph_id, op_name, slot) not in recorded
            ]
            if left_out:
                of_user = name_of(part)
                message = (
                    f"Of the function {of_user} {len(left_out)} of {len(items)} tensors are not recorded, "
                    f"such as {left_out[0]}: XLA compiles it, and they cannot be handed out of it. Leave "
                    "jit_compile=True out to have them recorded."
                )
                level = logging.INFO if self._options.mode in _WITHOUT_ELEMENTS else logging.WARNING
                self._not_recorded.say(
                    Missing(NotRecordedReason.COMPILED, message, (of_user,), known.graph_id, level)
                )

    def _items(self, function: Function) -> dict[Key, Planned]:
        """The tensors to record when a function runs, by op name and slot. Constants are recorded now."""
        known = self._add(function)
        plan = make_plan(function, known, self._options, passes_through=False)
        record_constants(plan, known, self._sink)
        return {(item.op.name, item.slot): item for item in plan.tensors if item.way is not Way.CONSTANT}

    def _seen_whole(self, function: Function, items: Collection[Key]) -> dict[Key, str]:
        """The arguments and results that the recorder looks at itself, and their sources in the shell."""
        if any(device.device_type != "CPU" for device in tf.config.list_logical_devices()):
            return {}  # they would have to be fetched
        sources = {(_op_name(name), 0): _op_name(name) for name in function.inputs}
        for index, tensor in enumerate(function.result_tensors()):
            while tensor.op.type == "Identity":
                tensor = tensor.op.inputs[0]
            sources.setdefault((tensor.op.name, tensor.value_index), source_name(CALL, index))
        return {key: source for key, source in sources.items() if key in items}

    def _body(
        self,
        suffix: str,
        function: Function,
        planned: dict[str, dict[Key, Planned]],
        whole: Mapping[Key, int],
        bodies: dict[str, Body | None],
    ) -> Body:
        known = self._add(function)
        if function.name not in planned:
            planned[function.name] = self._items(function)
        items = planned[function.name]

        def body_called(name: str) -> Body | None:
            if name not in bodies:
                called = self._find(name)
                bodies[name] = None if called is None else self._body(suffix, called, planned, {}, bodies)
            return bodies[name]

        return body_of(
            function,
            {
                key: watched_tensor(item, known)
                for key, item in items.items()
                if key in whole or self._can_tell(item)
            },
            {op.name for op in live_ops(function)},
            body_called,
            suffix=suffix,
            whole=whole,
            looks=self._looks(suffix, function),
            stacks=known.stacks,
        )

    def _looks(self, suffix: str, function: Function) -> Looks:
        if self._options.mode in _WITHOUT_ELEMENTS:
            return Looks(None)
        live = live_ops(function)
        ops = [op for op in function.graph_of().get_operations() if op in live]
        if suffix == _VOUCHED:
            told_by = vouchers(ops, _can_look)
        else:
            told_by = equals(ops, _can_look, in_numbers=self._in_numbers)
        if not self._in_numbers:
            return Looks(told_by)
        own = {key for key, telling in told_by.items() if telling == (key,)}
        # Who has infinities from a constant is bad in each call: there, that is no reason to run again.
        return Looks(told_by, own if suffix == _COUNTED else own & infinite(ops), in_numbers=True)

    @property
    def _in_numbers(self) -> bool:
        """Whether the recording counts elements."""
        return self._options.mode in COUNTING_MODES

    def _can_tell(self, item: Planned) -> bool:
        """Whether a tensor inside a compiled function can be recorded."""
        if self._options.mode is TensorDebugMode.SHAPE:
            return bool(item.tensor.shape.is_fully_defined())
        return True


def _can_look(tensor: Any) -> bool:
    return kind_of(tensor) is not None


def _op_name(tensor_name: str) -> str:
    return tensor_name.rpartition(":")[0]
