"""What a dump folder of tfdbg v1 is asked, in the same words by TensorFlow's own class and by ours."""

from __future__ import annotations

from typing import Any

import numpy as np


def facts_of(dump: Any) -> dict[str, object]:
    """Return what is in a dump folder, as JSON has it.

    Args:
      dump: TensorFlow's `DebugDumpDir` of the folder of a call, or ours.
    """
    return {
        "core_metadata": dump.core_metadata._asdict(),
        "fetches": dump.run_fetches_info,
        "feeds": dump.run_feed_keys_info,
        "devices": dump.devices(),
        "nodes": {
            node: {
                "op": dump.node_op_type(node),
                "inputs": dump.node_inputs(node),
                "controls": dump.node_inputs(node, is_control=True),
                "recipients": dump.node_recipients(node),
                "attributes": sorted(dump.node_attributes(node)),
            }
            for node in dump.nodes()
        },
        "data": [
            [datum.watch_key, datum.timestamp, _value(datum.get_tensor())]
            for datum in dump.dumped_tensor_data
        ],
    }


def _value(tensor: object) -> dict[str, object] | None:
    """The elements; None where the class has no array."""
    if not isinstance(tensor, np.ndarray):
        return None
    values = list(map(repr, tensor.ravel().tolist()))
    return {"dtype": str(tensor.dtype), "shape": list(tensor.shape), "values": values}
