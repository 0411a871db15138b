"""Records what functions computed before a call went bad, so that one sees what grew.

Guards keep the numbers of results and variables of every few good calls (`native/src/earlier_calls.h`). When
a call is bad, those of its function go on record before it, each call as an execution of its own.

Invariant: the times on record rise, so calls that ended before another record are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType, ModuleType

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.engines.guard.copies import Followed, Guarded
from tb_debugger_plugin.capture.graph_records import GraphRecords, computed
from tb_debugger_plugin.capture.keep_values import TensorFacts
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import WatchedTensor
from tb_debugger_plugin.capture.tf_types import EagerTensor
from tb_debugger_plugin.native.structs import FollowedInput

#: Encodes an execution of a function, by its name, inputs and number of outputs, none of which is recorded.
EncodeCall = Callable[[str, Sequence[EagerTensor], int, FrameType], bytes]


class EarlierCalls:
    """Records the calls before bad ones, of one recording.

    Args:
      module: The native library.
      graphs: Writes the graphs, and knows their tensors.
      options: What is recorded.
      encode: Encodes an execution of the function.
    """

    def __init__(
        self, module: ModuleType, graphs: GraphRecords, options: Options, encode: EncodeCall
    ) -> None:
        self._module = module
        self._graphs = graphs
        self._options = options
        self._encode = encode

    def record(
        self, guarded: Guarded, inputs: Sequence[EagerTensor], frame: FrameType, last_step: int
    ) -> None:
        """Record the good calls of a function that its guard has kept.

        Args:
          guarded: The function, whose graphs are on record.
          inputs: Inputs of the call that follows.
          frame: The frame that calls it.
          last_step: Number of the call that follows, if that is its step; -1 if the program marks steps.
        """
        followed = dict[tuple[str, str, int], FollowedInput]()
        described = [self._described(one, followed) for one in guarded.followed]
        if not followed:
            return
        function = guarded.taken.function
        execution = self._encode(function.name, inputs, len(function.outputs), frame)
        self._module.record_earlier_calls(guarded.site, described, execution, last_step)

    def _described(
        self, followed: Followed, others: dict[tuple[str, str, int], FollowedInput]
    ) -> FollowedInput:
        """Return how a tensor is recorded; add it to the others, unless it is one of them or not wanted."""
        graph = followed.function.graph_of()
        if graph is None:
            return FollowedInput()
        known = self._graphs.add(graph)
        tensor = computed(graph.get_operation_by_name(followed.op).outputs[followed.slot])
        op, slot = tensor.op, tensor.value_index
        key, ids = (known.graph_id, op.name, slot), known.tensor_ids.get(op.name, ())
        layer, functions = known.layers.get(op.name, ""), (followed.function.name, graph.name)
        facts = TensorFacts(op.type, tensor.dtype, op.name, layer, functions)
        # Calls may have got outputs for gradients since they were recorded.
        if key in others or slot >= len(ids) or not self._options.choose(facts).is_recorded:
            return FollowedInput()
        watched = WatchedTensor(known.graph_id, op.name, slot, ids[slot], 0, None)
        others[key] = FollowedInput(watched.prefix(placement.full_name(op.device)), ids[slot])
        return others[key]
