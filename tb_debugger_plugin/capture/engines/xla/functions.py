"""Records functions that XLA compiles.

XLA has no kernel for the watch ops. The definition of a compiled function therefore becomes a wrapper
(`wrappers`): it calls a copy (`copies`), which XLA compiles as it would have compiled the function. The copy
returns, after the results, the largest magnitudes of tensors, and one op after the call records them.
Functions that the copy calls are copies too. This module chooses which tensors are recorded, and which are
measured.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

import tensorflow as tf

from tb_debugger_plugin.capture.engines.instrument import note_unrecorded, record_constants, watched_tensor
from tb_debugger_plugin.capture.engines.xla.layout_builder import layout_of
from tb_debugger_plugin.capture.engines.xla.magnitudes import kind_of
from tb_debugger_plugin.capture.engines.xla.probe_layout import ProbeLayout, ProbePlan
from tb_debugger_plugin.capture.engines.xla.repeating import state_of
from tb_debugger_plugin.capture.engines.xla.witnesses import Key, choose_witnesses, equal_tensors, infinite
from tb_debugger_plugin.capture.engines.xla.wrappers import CALL, Wrappers
from tb_debugger_plugin.capture.graph.definitions import source_name
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import MEASURED_DTYPES, Options, covers
from tb_debugger_plugin.capture.plan.attachment import Attachment
from tb_debugger_plugin.capture.plan.plan import Planned, live_ops, make_plan
from tb_debugger_plugin.capture.sinks.protocol import CompiledSink
from tb_debugger_plugin.capture.tf_types import TfTensor
from tb_debugger_plugin.events.modes import TensorDebugMode, spec_of
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Suffixes of the names of copies: those that measure all tensors, those that measure the witnesses, and
#: those that count the bad elements of all tensors.
_EVERY, _WITNESSED, _COUNTED = "_compiled", "_witnesses", "_counted"


class CompiledFunctions:
    """The engine for functions that XLA compiles.

    Args:
      options: What to record.
      sink: Makes the node that records.
      graphs: Writes the graphs and returns their ids.
      functions: The functions of the recording.
      not_recorded: Registers the functions with tensors that cannot be recorded.
    """

    def __init__(
        self,
        options: Options,
        sink: CompiledSink,
        graphs: GraphRecords,
        functions: FunctionTable,
        not_recorded: NotRecorded,
    ) -> None:
        self._options = options
        self._needs_elements = spec_of(options.mode).needs_elements
        self._sink = sink
        self._graphs = graphs
        self._functions = functions
        self._find = functions.all.get
        self._wrappers = Wrappers(sink, functions.copies)
        self._not_recorded = not_recorded

    def watch(self, function: Function, known: KnownGraph) -> None:
        """Let the function call a copy that measures its tensors, if there is anything to record."""
        if self._define(function):
            self._functions.watched[function.name] = function
        else:
            self._functions.call_unwatched(function)

    def _define(self, function: Function) -> bool:
        """Give the runtime a definition that records tensors; return whether there are any."""
        planned = {function.name: self._items(function)}
        sources = self._direct_sources(function, planned[function.name])
        direct = {key: index for index, key in enumerate(sources)}
        state = state_of(function, self._find) if self._needs_elements else None
        layout = self._layout(_EVERY if state is None else _WITNESSED, function, planned, direct, {})
        self._report_unmeasured(layout, planned)
        self._report_not_kept(function, planned, direct)
        if not layout.tensors:
            return False
        if state is not None and layout.inconclusive:
            every = self._layout(_COUNTED if self._exact_counts else _EVERY, function, planned, direct, {})
            self._wrappers.define_with_rerun(layout, every, list(sources.values()), state)
        else:
            self._wrappers.define(layout, list(sources.values()))
        return True

    def _report_unmeasured(self, layout: ProbeLayout, planned: Mapping[str, Mapping[Key, Planned]]) -> None:
        """Register the functions, the compiled one or its parts, that have tensors without measurement."""
        recorded = {
            (compiled.tensor.graph_id, compiled.tensor.op_name, compiled.tensor.slot)
            for compiled in layout.tensors
        }
        for name, items in planned.items():
            part = layout.function if name == layout.function.name else self._find(name)
            assert part is not None, "its tensors are known"
            known = self._graphs.add(part.graph)
            left_out = [
                op_name
                for (op_name, slot), item in items.items()
                if item.tensor.dtype in MEASURED_DTYPES and (known.graph_id, op_name, slot) not in recorded
            ]
            if left_out:
                of_user = name_of(part)
                message = (
                    f"{len(left_out)} of {len(items)} tensors of the function {of_user} are not recorded, "
                    f"such as {left_out[0]}: XLA compiles the function and does not return them. Leave out "
                    "jit_compile=True to record them."
                )
                level = logging.WARNING if self._needs_elements else logging.INFO
                self._not_recorded.report(
                    Missing(NotRecordedReason.COMPILED, message, (of_user,), known.graph_id, level)
                )

    def _report_not_kept(
        self, function: Function, planned: Mapping[str, Mapping[Key, Planned]], direct: Mapping[Key, int]
    ) -> None:
        """Register the functions with tensors that are chosen by `keep_values` and are not returned."""
        for name, items in planned.items():
            inside = [
                op_name
                for (op_name, slot), item in items.items()
                if item.keep and not (name == function.name and (op_name, slot) in direct)
            ]
            part = function if name == function.name else self._find(name)
            if inside and part is not None:
                of_user = name_of(part)
                message = (
                    f"keep_values chooses {len(inside)} tensors inside the function {of_user}, such as "
                    f"{inside[0]}, whose values are not kept: XLA compiles the function and does not return "
                    "them. Leave out jit_compile=True to keep them."
                )
                graph_id = self._graphs.add(part.graph).graph_id
                names = (f"values inside {of_user}",)
                # A rule for all tensors is known to keep what it can.
                is_chosen = any(rule.names_tensors for rule in self._options.keep_values)
                level = logging.WARNING if is_chosen else logging.INFO
                self._not_recorded.report(
                    Missing(NotRecordedReason.COMPILED, message, names, graph_id, level)
                )

    def _items(self, function: Function) -> dict[Key, Planned]:
        """Return the tensors to record when a function runs, by op name and slot; record constants now."""
        known = self._graphs.add(function.graph)
        plan = make_plan(function, known, self._options, supports_inline=False)
        record_constants(plan, known, self._sink)
        note_unrecorded(plan, known, self._sink)
        return {
            (item.op.name, item.slot): item
            for item in plan.tensors
            if item.attachment is not Attachment.CONSTANT
        }

    def _direct_sources(self, function: Function, items: Collection[Key]) -> dict[Key, str]:
        """Return the arguments and results that the recorder reads, and their sources in the wrapper."""
        if any(device.device_type != "CPU" for device in tf.config.list_logical_devices()):
            return {}  # they would have to be copied to the host
        sources = {(_op_name(name), 0): _op_name(name) for name in function.inputs}
        for index, tensor in enumerate(function.result_tensors()):
            while tensor.op.type == "Identity":
                tensor = tensor.op.inputs[0]
            sources.setdefault((tensor.op.name, tensor.value_index), source_name(CALL, index))
        return {key: source for key, source in sources.items() if key in items}

    def _layout(
        self,
        suffix: str,
        function: Function,
        planned: dict[str, dict[Key, Planned]],
        direct: Mapping[Key, int],
        layouts: dict[str, ProbeLayout | None],
    ) -> ProbeLayout:
        known = self._graphs.add(function.graph)
        if function.name not in planned:
            planned[function.name] = self._items(function)
        items = planned[function.name]

        def layout_called(name: str) -> ProbeLayout | None:
            if name not in layouts:
                called = self._find(name)
                layouts[name] = None if called is None else self._layout(suffix, called, planned, {}, layouts)
            return layouts[name]

        return layout_of(
            function,
            {
                key: watched_tensor(item, known)
                for key, item in items.items()
                if key in direct or self._can_record(item)
            },
            {op.name for op in live_ops(function)},
            layout_called,
            suffix=suffix,
            direct=direct,
            plan=self._probe_plan(suffix, function),
            stacks=known.stacks,
        )

    def _probe_plan(self, suffix: str, function: Function) -> ProbePlan:
        if not self._needs_elements:
            return ProbePlan(None)
        live = live_ops(function)
        ops = [op for op in function.graph.get_operations() if op in live]
        if suffix == _WITNESSED:
            witnesses = choose_witnesses(ops, _can_measure)
        else:
            witnesses = equal_tensors(ops, _can_measure, exact_counts=self._exact_counts)
        if not self._exact_counts:
            return ProbePlan(witnesses)
        own = {key for key, chosen in witnesses.items() if chosen == (key,)}
        # A tensor with infinities from a constant is bad in each call, which is no reason for a second run.
        return ProbePlan(witnesses, own if suffix == _COUNTED else own & infinite(ops), exact_counts=True)

    @property
    def _exact_counts(self) -> bool:
        """Whether the recording counts elements."""
        return spec_of(self._options.mode).counts

    def _can_record(self, item: Planned) -> bool:
        """Whether a tensor inside a compiled function can be recorded."""
        if not covers(self._options.mode, item.tensor.dtype):
            return False  # it is planned because its value may be kept
        if self._options.mode is TensorDebugMode.SHAPE:
            return bool(item.tensor.shape.is_fully_defined())
        return True


def _can_measure(tensor: TfTensor) -> bool:
    return kind_of(tensor) is not None


def _op_name(tensor_name: str) -> str:
    return tensor_name.rpartition(":")[0]
