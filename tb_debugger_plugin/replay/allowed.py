"""Says which ops a bundle may run.

A bundle may come from anybody, and its functions are programs. Ops that compute, that work on variables made
for the call, and that call functions of the bundle may run; files, networks, Python and other processes are
out of reach.
"""

from __future__ import annotations

from typing import Final

import tensorflow as tf

from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.replay.functions import Functions

#: TensorFlow's modules whose ops only compute.
_MODULES: Final = frozenset(
    f"gen_{name}"
    for name in (
        *("array_ops", "audio_ops", "bitwise_ops", "clustering_ops", "control_flow_ops", "count_ops"),
        *("ctc_ops", "functional_ops", "image_ops", "linalg_ops", "list_ops", "manip_ops", "map_ops"),
        *("math_ops", "nn_ops", "optional_ops", "parsing_ops", "ragged_array_ops", "ragged_conversion_ops"),
        *("ragged_math_ops", "random_ops", "random_index_shuffle_ops", "resource_variable_ops", "rnn_ops"),
        *("set_ops", "sparse_ops", "sparse_csr_matrix_ops", "special_math_ops", "spectral_ops", "state_ops"),
        *("stateful_random_ops", "stateless_random_ops", "stateless_random_ops_v2", "string_ops"),
        "training_ops",
    )
)
#: Ops of other modules that only compute.
_OTHERS: Final = frozenset(
    ("Assert", "DynamicPartition", "DynamicStitch", "ParallelDynamicStitch", "ComputeAccidentalHits")
)
#: Ops of these modules that do more: they run elsewhere, end the process, or wait for others.
_MORE: Final = frozenset(("RemoteCall", "Abort", "MutexLock", "MutexV2", "ConsumeMutexLock"))
#: Lists of tensors in a function.
_LISTS: Final = ("TensorArray", "Stack")


def check_ops(functions: Functions) -> None:
    """Check that a bundle only computes.

    Raises:
      FormatError: It runs an op that may do more; the text names it.
    """
    known = set(functions.by_name)
    for function, node in functions.nodes():
        if node.op in known or is_allowed(node.op):
            missing = [one.name for one in functions_named(node) if one.name not in known]
            if not missing:
                continue
            raise FormatError(
                f"The bundle is refused: its op {node.name} calls the function {missing[0]}, which is not in "
                "it."
            )
        raise FormatError(
            f"The bundle is refused: it runs the op {node.op} ({node.name} in "
            f"{function.signature.name}), which is not on the list of ops that only compute."
        )


def is_allowed(op_type: str) -> bool:
    """Whether an op only computes."""
    if op_type in _OTHERS or op_type.startswith(_LISTS):
        return True
    made = getattr(tf.raw_ops, op_type, None)
    module = getattr(made, "__module__", "").rpartition(".")[2]
    return module in _MODULES and op_type not in _MORE
