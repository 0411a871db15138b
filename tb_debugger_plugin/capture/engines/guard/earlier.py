"""Records what functions computed before a call went bad, so that one sees what grew.

Guards keep the numbers of results and variables of every few good calls (`native/src/earlier_calls.h`). When
a call is bad, those of its function go on record before it, each call as an execution of its own.

Invariant: the times on record rise, so calls that ended before another record are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.engines.guard.copies import Followed, Guarded
from tb_debugger_plugin.capture.graph_records import GraphRecords
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
      encode: Encodes an execution of the function.
    """

    def __init__(self, module: ModuleType, graphs: GraphRecords, encode: EncodeCall) -> None:
        self._module = module
        self._graphs = graphs
        self._encode = encode
        self._recorded_until = 0.0

    def end_record(self) -> None:
        """Note that something went on record that ends now."""
        self._recorded_until = time.time()

    def record(
        self, guarded: Guarded, inputs: Sequence[EagerTensor], frame: FrameType, *, marks_steps: bool
    ) -> None:
        """Record the good calls of a function that its guard has kept.

        Args:
          guarded: The function, whose graphs are on record.
          inputs: Inputs of the call that follows.
          frame: The frame that calls it.
          marks_steps: Whether the program marks steps; else the step of a call is its number.
        """
        followed = [self._described(one) for one in guarded.followed]
        if not any(one.prefix for one in followed):
            return
        function = guarded.taken.function
        execution = self._encode(function.name, inputs, len(function.outputs), frame)
        self._module.record_earlier_calls(
            guarded.site, self._recorded_until, followed, execution, not marks_steps
        )

    def _described(self, followed: Followed) -> FollowedInput:
        graph = followed.function.graph_of()
        if graph is None:
            return FollowedInput()
        known = self._graphs.add(graph)
        op, slot = graph.get_operation_by_name(followed.op), followed.slot
        while op.type == "Identity":  # a replay records what is passed on, and not that it is
            op, slot = op.inputs[0].op, op.inputs[0].value_index
        number = known.tensor_ids[op.name][slot]
        tensor = WatchedTensor(known.graph_id, op.name, slot, number, 0, None)
        return FollowedInput(tensor.prefix(placement.full_name(op.device)), number)
