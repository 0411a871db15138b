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
from tb_debugger_plugin.capture.engines.guard.taken import CALLS
from tb_debugger_plugin.capture.tf_types import AttrValue, FunctionDef, NodeDef
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.expressions.evaluate import evaluate
from tb_debugger_plugin.expressions.names import parse_tensor_name
from tb_debugger_plugin.expressions.parse import parse
from tb_debugger_plugin.replay.functions import Functions, replace_tensors

#: The dtypes that a call can be computed in instead of its own.
DTYPES: Final = ("float16", "bfloat16", "float32", "float64")
_FLOATS: Final = frozenset(tf.as_dtype(name).as_datatype_enum for name in DTYPES)
_SCOPE: Final = "TbDebuggerReplay/"
#: What stands in backticks, or the name of an input.
_OWN: Final = re.compile(r"`[^`]*`|\b(x\d+)\b")


def with_dtype(functions: Functions, name: str) -> None:
    """Let functions compute in another dtype.

    An op that has no kernel for it keeps its dtypes, and its inputs and outputs are cast.

    Args:
      functions: The functions.
      name: One of :data:`DTYPES`, which all of these become.

    Raises:
      UsageError: It is none of them.
    """
    if name not in DTYPES:
        raise UsageError(f"{name!r} is no dtype to compute in: give one of {', '.join(DTYPES)}.")
    dtype = tf.as_dtype(name).as_datatype_enum
    for function in functions.by_name.values():
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            argument.type = _other(argument.type, dtype)
        for node in function.node_def:
            if node.op == "Const" or _has_kernel(node, dtype):
                for value in node.attr.values():
                    _retype(value, dtype)
    for function in functions.by_name.values():
        _cast(functions, function)


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


def _cast(functions: Functions, function: FunctionDef) -> None:
    """Cast where a node or a result takes another dtype than it is given."""
    given = functions.dtypes(function)
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
        for position, dtype in enumerate(functions.inputs(node)):
            node.input[position] = fitting(node.input[position], dtype)
    for result in function.signature.output_arg:
        function.ret[result.name] = fitting(function.ret[result.name], result.type)
    function.node_def.extend(new)


def with_tensor(functions: Functions, name: str, text: str) -> Callable[..., object]:
    """Let a tensor have the value of an expression.

    Args:
      functions: The functions.
      name: The tensor, such as ``loss/Log:0``, or its op.
      text: The expression, in which backticks name other tensors of the same function, and ``x0``, ``x1`` …
        are the inputs of the op.

    Returns:
      A function that the caller has to keep until the call has run.

    Raises:
      NotFoundError: There is no such tensor.
      UsageError: The expression is none.
    """
    wanted = parse_tensor_name(name)
    function, node = functions.find(wanted)
    inputs = {f"x{index}": tensor for index, tensor in enumerate(_inputs(node))}
    in_backticks = _OWN.sub(lambda found: f"`{found[1]}`" if found[1] in inputs else found[0], text)
    return _set(functions, function, functions.output(node, wanted), in_backticks, inputs)


def _inputs(node: NodeDef) -> list[str]:
    return [tensor for tensor in node.input if not tensor.startswith("^")]


def with_trial(functions: Functions, name: str) -> tuple[str, Callable[..., object]] | None:
    """Keep an input of an op in the range in which the op is finite, as `trials` says.

    Args:
      functions: The functions.
      name: The op.

    Returns:
      What is changed, and a function that the caller has to keep until the call has run; None where nothing
      is known to try.

    Raises:
      NotFoundError: There is no such op.
      UsageError: There are several.
    """
    function, node = functions.find(parse_tensor_name(name))
    trial = TRIALS.get(node.op)
    if trial is None:
        return None
    tensor = _inputs(node)[trial.input]
    shown = functions.plain_name(function, tensor)
    computed = _set(functions, function, tensor, trial.expression.format(x="`x`"), {"x": tensor})
    return f"{trial.expression.format(x=shown)} for {shown}", computed


def _set(
    functions: Functions, function: FunctionDef, tensor: str, text: str, inputs: Mapping[str, str]
) -> Callable[..., object]:
    """Let a tensor of a function have the value of an expression.

    Args:
      functions: The functions.
      function: The function.
      tensor: The tensor, by its name in the function.
      text: The expression.
      inputs: More names that may stand in backticks, with their tensors.
    """
    names = parse(text).tensors
    sources = [inputs[one] if one in inputs else functions.tensor_in(function, one) for one in names]
    dtypes = functions.dtypes(function)
    computed = _Computed(text, names, tf.as_dtype(dtypes[tensor]).as_numpy_dtype)
    new = node_def_pb2.NodeDef(name=f"{_SCOPE}set/{len(function.node_def)}", op="PyFunc", input=sources)
    new.attr["token"].s = script_ops._py_funcs.insert(computed).encode()
    new.attr["Tin"].list.type.extend(dtypes[source] for source in sources)
    new.attr["Tout"].list.type.append(dtypes[tensor])
    replace_tensors(function, {tensor: f"{new.name}:output:0"})
    function.node_def.append(new)
    functions.prune(function)
    return computed


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


def until(functions: Functions, name: str) -> None:
    """Let the call end with an op, whose outputs become its results.

    Args:
      functions: The functions.
      name: The op.

    Raises:
      NotFoundError: There is no such op.
      UsageError: It is inside a loop or a branch.
    """
    function, node = functions.find(parse_tensor_name(name))
    while True:
        outputs = functions.outputs(node)
        _end_with(functions, function, outputs)
        if function.signature.name == functions.main.signature.name:
            return
        callers = functions.callers(function.signature.name)
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


def _end_with(functions: Functions, function: FunctionDef, outputs: Sequence[tuple[str, int]]) -> None:
    function.ret.clear()
    function.control_ret.clear()
    signature = function.signature
    del signature.output_arg[:], signature.control_output[:]
    for index, (tensor, dtype) in enumerate(outputs):
        name = f"result_{index}"
        signature.output_arg.add(name=name, type=dtype)
        function.ret[name] = tensor
    functions.prune(function)
