"""Changes the functions of a bundle: their dtypes, a tensor, and where the call ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
from tensorflow.python.framework import kernels
from tensorflow.python.ops import script_ops

from tb_debugger_plugin.analysis.diagnosis.trials import TRIALS
from tb_debugger_plugin.capture.tf_types import AttrValue, FunctionDef, NodeDef
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.expressions.evaluate import evaluate
from tb_debugger_plugin.expressions.parse import parse
from tb_debugger_plugin.replay.library import CALLS, Library, Node, replace_tensors

#: The dtypes that a call can be computed in instead of its own.
DTYPES: Final = ("float16", "bfloat16", "float32", "float64")
_FLOATS: Final = frozenset(tf.as_dtype(name).as_datatype_enum for name in DTYPES)
_SCOPE: Final = "TbDebuggerReplay/"
_WORDS: Final = re.compile(r"(\w+)")


def with_dtype(library: Library, name: str) -> None:
    """Let functions compute in another dtype.

    An op that has no kernel for it keeps its dtypes, and its inputs and outputs are cast.

    Args:
      library: The functions.
      name: One of :data:`DTYPES`, which all of these become.

    Raises:
      UsageError: It is none of them.
    """
    if name not in DTYPES:
        raise UsageError(f"{name!r} is no dtype to compute in: give one of {', '.join(DTYPES)}.")
    dtype = tf.as_dtype(name).as_datatype_enum
    for function in library.functions.values():
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            argument.type = _other(argument.type, dtype)
        for node in function.node_def:
            if node.op == "Const" or _has_kernel(node, dtype):
                for value in node.attr.values():
                    _retype(value, dtype)
    for function in library.functions.values():
        _cast(library, function)


def _other(dtype: int, wanted: int) -> int:
    return wanted if dtype in _FLOATS else dtype


def _retype(value: AttrValue, wanted: int) -> None:
    kind = value.WhichOneof("value")
    if kind == "type":
        value.type = _other(value.type, wanted)
    elif kind == "list":
        for index, dtype in enumerate(value.list.type):
            value.list.type[index] = _other(dtype, wanted)
    elif kind == "tensor" and value.tensor.dtype in _FLOATS:
        array = tf.make_ndarray(value.tensor)
        value.tensor.CopyFrom(
            tf.make_tensor_proto(array.astype(tf.as_dtype(wanted).as_numpy_dtype), tf.as_dtype(wanted))
        )


def _has_kernel(node: NodeDef, wanted: int) -> bool:
    """Whether the CPU has a kernel of an op for a dtype instead of its own."""
    rows = _kernels(node.op)
    if not rows:  # a call of a function, or an op that TensorFlow replaces before it runs
        return True
    given = {name: _other(value.type, wanted) for name, value in node.attr.items() if value.type}
    return any(
        all(given.get(name) is None or given[name] in allowed for name, allowed in row) for row in rows
    )


@cache
def _kernels(op_type: str) -> list[list[tuple[str, frozenset[int]]]]:
    """Return, for each kernel of an op on the CPU, the dtypes that its attributes may have."""
    found = kernels.get_registered_kernels_for_op(op_type).kernel
    return [
        [(one.name, frozenset(one.allowed_values.list.type)) for one in kernel.constraint]
        for kernel in found
        if kernel.device_type == "CPU"
    ]


def _cast(library: Library, function: FunctionDef) -> None:
    """Cast where a node or a result takes another dtype than it is given."""
    given = library.dtypes(function)
    casts: dict[tuple[str, int], str] = {}
    new: list[NodeDef] = []

    def fitting(tensor: str, dtype: int) -> str:
        have = given.get(tensor, given.get(tensor.removesuffix(":0"), dtype))
        if have == dtype or not {have, dtype} <= _FLOATS:
            return tensor
        if (tensor, dtype) not in casts:
            node = node_def_pb2.NodeDef(name=f"{_SCOPE}cast_{len(casts)}", op="Cast", input=[tensor])
            node.attr["SrcT"].type, node.attr["DstT"].type = have, dtype
            new.append(node)
            casts[tensor, dtype] = f"{node.name}:y:0"
        return casts[tensor, dtype]

    for node in function.node_def:
        for position, dtype in enumerate(library.inputs(node)):
            node.input[position] = fitting(node.input[position], dtype)
    for result in function.signature.output_arg:
        function.ret[result.name] = fitting(function.ret[result.name], result.type)
    function.node_def.extend(new)


def with_tensor(library: Library, name: str, text: str) -> Callable[..., object]:
    """Let a tensor have the value of an expression.

    Args:
      library: The functions.
      name: The tensor, such as ``loss/Log:0``, or its op.
      text: The expression, in which backticks name other tensors of the same function, and ``x0``, ``x1`` …
        are the inputs of the op.

    Returns:
      A function that the caller has to keep until the call has run.

    Raises:
      UsageError: There is no such tensor, or the expression is none.
    """
    function, node = library.find(name)
    slot = int(name.rpartition(":")[2]) if name.rpartition(":")[2].isdecimal() else 0
    outputs = library.outputs(node)
    if slot >= len(outputs):
        raise UsageError(f"The op {node.name} has {len(outputs)} outputs, and none with the number {slot}.")
    taken = [one for one in node.input if not one.startswith("^")]
    inputs = {f"x{index}": one for index, one in enumerate(taken)}
    for one in sorted(inputs, reverse=True):
        text = _as_tensor(text, one)
    return _set(library, function, outputs[slot][0], text, inputs)


def with_trial(library: Library, name: str) -> tuple[str, Callable[..., object]] | None:
    """Keep an input of an op in the range in which the op is finite, as `trials` says.

    Args:
      library: The functions.
      name: The op.

    Returns:
      What is changed, and a function that the caller has to keep until the call has run; None where nothing
      is known to try.

    Raises:
      UsageError: There is no such op, or there are several.
    """
    function, node = library.find(name)
    trial = TRIALS.get(node.op)
    if trial is None:
        return None
    tensor = [one for one in node.input if not one.startswith("^")][trial.input]
    shown = library.plain_name(function, tensor)
    computed = _set(library, function, tensor, trial.expression.format(x="`x`"), {"x": tensor})
    return f"{trial.expression.format(x=shown)} for {shown}", computed


def _set(
    library: Library, function: FunctionDef, tensor: str, text: str, inputs: Mapping[str, str]
) -> Callable[..., object]:
    """Let a tensor of a function have the value of an expression.

    Args:
      library: The functions.
      function: The function.
      tensor: The tensor, by its name in the function.
      text: The expression.
      inputs: More names that may stand in backticks, with their tensors.
    """
    names = parse(text).tensors
    sources = [inputs[one] if one in inputs else _source(library, function, one) for one in names]
    dtypes = library.dtypes(function)
    computed = _Computed(text, names, tf.as_dtype(dtypes[tensor]).as_numpy_dtype)
    new = node_def_pb2.NodeDef(name=f"{_SCOPE}set/{len(function.node_def)}", op="PyFunc", input=sources)
    new.attr["token"].s = script_ops._py_funcs.insert(computed).encode()
    new.attr["Tin"].list.type.extend(dtypes[source] for source in sources)
    new.attr["Tout"].list.type.append(dtypes[tensor])
    replace_tensors(function, {tensor: f"{new.name}:output:0"})
    function.node_def.append(new)
    library.prune(function)
    return computed


def _as_tensor(text: str, name: str) -> str:
    """Return an expression with the name of an input in backticks."""
    parts = text.split("`")
    for position in range(0, len(parts), 2):
        words = []
        for word in _WORDS.split(parts[position]):
            words.append(f"`{name}`" if word == name else word)
        parts[position] = "".join(words)
    return "`".join(parts)


def _source(library: Library, function: FunctionDef, name: str) -> str:
    """Return the tensor of a function that a name in backticks means."""
    op, _, slot = name.rpartition(":") if name.rpartition(":")[2].isdecimal() else (name, "", "0")
    for argument in function.signature.input_arg:
        if argument.name == op:
            return op
    for node in function.node_def:
        if node.name == op or node.name.endswith(f"/{op}"):
            outputs = library.outputs(node)
            if int(slot) < len(outputs):
                return outputs[int(slot)][0]
    raise UsageError(f"The function of the tensor has no tensor `{name}`.")


class _Computed:
    """Computes an expression from the values of its tensors.

    Args:
      text: The expression.
      names: The names of its tensors, in the order of the arguments.
      dtype: The dtype of the result.
    """

    def __init__(self, text: str, names: Sequence[str], dtype: type) -> None:
        self._text = text
        self._names = names
        self._dtype = dtype

    def __call__(self, *values: np.ndarray) -> np.ndarray:
        """Compute it."""
        known = dict(zip(self._names, values, strict=True))
        return np.asarray(evaluate(self._text, known.__getitem__), self._dtype)


def until(library: Library, name: str) -> Node:
    """Let the call end with an op, whose outputs become its results.

    Args:
      library: The functions.
      name: The op.

    Raises:
      UsageError: There is no such op, or it is inside a loop or a branch.
    """
    found = library.find(name)
    function, node = found
    while True:
        outputs = library.outputs(node)
        _end_with(library, function, outputs)
        if function.signature.name == library.main.signature.name:
            return found
        callers = library.callers(function.signature.name)
        if len(callers) != 1 or callers[0].node.op not in CALLS:
            raise UsageError(
                f"The call cannot end with {name!r}, which is in a loop, a branch, or a function that is "
                "called several times."
            )
        function, node = callers[0]
        del node.attr["Tout"].list.type[:]
        node.attr["Tout"].list.type.extend(dtype for _, dtype in outputs)
        for key in ("_output_shapes", "output_shapes"):
            node.attr.pop(key, None)


def _end_with(library: Library, function: FunctionDef, outputs: Sequence[tuple[str, int]]) -> None:
    function.ret.clear()
    function.control_ret.clear()
    signature = function.signature
    del signature.output_arg[:], signature.control_output[:]
    for index, (tensor, dtype) in enumerate(outputs):
        name = f"result_{index}"
        signature.output_arg.add(name=name, type=dtype)
        function.ret[name] = tensor
    library.prune(function)
