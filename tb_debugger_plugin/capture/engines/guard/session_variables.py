"""Which ops change the variables of sessions, and how those are read.

A read takes as long as a small update, so one op reads all variables that are resources.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import tensorflow as tf

from tb_debugger_plugin.capture.graph.definitions import source_name
from tb_debugger_plugin.capture.tf_types import NodeDef, TfOp

_RESOURCE: Final = "VarHandleOp"
#: Ops that are variables.
VARIABLES: Final = frozenset((_RESOURCE, "VariableV2", "Variable"))
_OPTIMIZERS: Final = (
    *("AdaMax", "Adadelta", "Adagrad", "AdagradDA", "Adam", "AddSign", "CenteredRMSProp", "Ftrl", "FtrlV2"),
    *("GradientDescent", "KerasMomentum", "Momentum", "PowerSign", "ProximalAdagrad"),
    *("ProximalGradientDescent", "RMSProp"),
)
#: Ops that give a variable a value, without one that it must have had.
OVERWRITES: Final = frozenset(("Assign", "AssignVariableOp"))
_SCATTERS: Final = (
    "Add",
    "Div",
    "Max",
    "Min",
    "Mul",
    "NdAdd",
    "NdMax",
    "NdMin",
    "NdSub",
    "NdUpdate",
    "Sub",
    "Update",
)
#: Ops that change rows of a variable.
BY_ROWS: Final = frozenset(
    name
    for prefix in ("", "Resource")
    for name in (
        f"{prefix}StridedSliceAssign",
        *(f"{prefix}SparseApply{one}" for one in _OPTIMIZERS),
        *(f"{prefix}Scatter{one}" for one in _SCATTERS),
    )
)
#: Ops that change the value of a variable.
UPDATES: Final = BY_ROWS.union(
    ("AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp"),
    (f"{prefix}Apply{name}" for prefix in ("", "Resource") for name in _OPTIMIZERS),
)
#: Ops that only read a variable.
READS: Final = frozenset(
    (
        *("Identity", "IsVariableInitialized", "ReadVariableOp", "ResourceGather", "ResourceGatherNd"),
        *("VarIsInitializedOp", "VariableShape"),
    )
)
#: TensorFlow's op that reads many variables.
_READ_MANY: Final = "_ReadVariablesOp"


def reads_of(
    variables: Collection[TfOp], name: str, *, copies: bool = True
) -> tuple[list[NodeDef], dict[TfOp, str]]:
    """Return ops that read variables, and the tensor that has the value of each.

    Args:
      variables: The variables.
      name: The names of the ops begin with it.
      copies: Whether to copy the values of references.
    """
    by_device: dict[str, list[TfOp]] = {}
    nodes, sources = list[NodeDef](), dict[TfOp, str]()
    for variable in variables:
        if is_resource(variable):
            by_device.setdefault(variable.device, []).append(variable)
            continue
        op = "DeepCopy" if copies else "Identity"
        node = NodeDef(name=f"{name}/{variable.name}", op=op, device=variable.device, input=[variable.name])
        node.attr["T"].type = dtype_of(variable).as_datatype_enum
        nodes.append(node)
        sources[variable] = node.name
    for number, (device, here) in enumerate(by_device.items()):
        node = NodeDef(name=f"{name}_{number}", op=_READ_MANY, device=device)
        node.input.extend(variable.name for variable in here)
        node.attr["N"].i = len(here)
        node.attr["dtypes"].list.type.extend(dtype_of(variable).as_datatype_enum for variable in here)
        nodes.append(node)
        sources |= {variable: source_name(node.name, slot) for slot, variable in enumerate(here)}
    return nodes, {variable: sources[variable] for variable in variables}


def reads_after(changes: Mapping[TfOp, Sequence[TfOp]], name: str) -> tuple[list[NodeDef], dict[TfOp, str]]:
    """Return the same, for variables after ops have changed them.

    Args:
      changes: The ops that change each variable.
      name: See `reads_of`.
    """
    nodes, sources = reads_of(changes, name, copies=False)
    waits: dict[str, dict[str, None]] = {node.name: {} for node in nodes}
    for variable, ops in changes.items():
        read = sources[variable].partition(":")[0]
        waits[read].update(dict.fromkeys(f"^{op.name}" for op in ops))
    for node in nodes:
        node.input.extend(waits[node.name])
    return nodes, sources


def is_resource(variable: TfOp) -> bool:
    """Whether a variable is a resource; else it is a reference to memory."""
    return bool(variable.type == _RESOURCE)


def dtype_of(variable: TfOp) -> tf.DType:
    """Return the dtype of the values of a variable."""
    return tf.as_dtype(variable.get_attr("dtype"))


def size_of(variable: TfOp) -> int:
    """Return the size of a variable in bytes; 0 when its shape is not known."""
    shape = tf.TensorShape(variable.get_attr("shape"))
    return int(shape.num_elements() or 0) * int(dtype_of(variable).size)


def variables_of(op: TfOp) -> list[TfOp]:
    """Return the variables that an op takes."""
    return list(dict.fromkeys(tensor.op for tensor in op.inputs if tensor.op.type in VARIABLES))
