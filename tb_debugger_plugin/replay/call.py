"""Runs the call of a bundle, once or with changes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework import tensor_pb2
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes
from tensorflow.python.ops import gen_list_ops, gen_resource_variable_ops
from tensorflow.python.saved_model import function_deserialization

from tb_debugger_plugin.capture.api import disable_dump_debug_info, enable_dump_debug_info
from tb_debugger_plugin.capture.engines.guard.bundles import digest_of
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import EagerTensor
from tb_debugger_plugin.errors import FormatError, UsageError
from tb_debugger_plugin.events.bundle import Argument, Bundle
from tb_debugger_plugin.replay.allowed import check_ops
from tb_debugger_plugin.replay.changes import DTYPES, until, with_dtype, with_tensor, with_trial
from tb_debugger_plugin.replay.functions import Functions

#: Attributes of nodes that name what a bundle does not have; XLA cannot compile what is recorded.
_STRIPPED: Final = ("_class", "_gradient_op_type", "_output_shapes", attributes.XLA_COMPILE)
_MB: Final = 1e6


@dataclass(frozen=True)
class Variant:
    """How a call runs.

    Attributes:
      dtype: The dtype to compute in; empty for its own.
      tensors: Tensors and the expressions that they become.
      trial: The op that gets an input in its range, as `trials` says; empty for none.
      until: The op with which the call ends; empty for all of it.
      device: Where it runs; empty for where TensorFlow places it.
      record: The folder of its recording; empty for none.
      mode: The mode of the recording.
    """

    dtype: str = ""
    tensors: Sequence[tuple[str, str]] = ()
    trial: str = ""
    until: str = ""
    device: str = ""
    record: str = ""
    mode: str = "FULL_HEALTH"


@dataclass(frozen=True)
class Outcome:
    """What a call gave.

    Attributes:
      results: dtype, shape, digest, counts of bad elements, and numbers of each result.
      seconds: How long it ran.
      changed: What was changed for a trial: a tensor and its expression; empty if nothing was.
      error: Why it failed; empty if it did not.
    """

    results: list[dict[str, Any]] = field(default_factory=list)
    changed: str = ""
    seconds: float = 0.0
    error: str = ""


def run(bundle: Bundle, variant: Variant) -> Outcome:
    """Run the call of a bundle.

    Args:
      bundle: The bundle.
      variant: How it runs.

    Raises:
      FormatError: The bundle is refused, or damaged.
      UsageError: A change cannot be made.
    """
    header = bundle.header
    functions = Functions(bundle.functions, header.function)
    check_ops(functions)
    if len(functions.main.signature.input_arg) != len(header.arguments):
        raise FormatError("The bundle has another number of arguments than its function.")
    changed, kept = _change(functions, variant)
    with _recorded(variant), tf.device(variant.device or None):
        arguments = [_argument(bundle, one, variant.dtype) for one in header.arguments]
        name = _load(functions)
        begin = time.perf_counter()
        try:
            results = context.context().call_function(
                name, arguments, len(functions.main.signature.output_arg)
            )
        except (tf.errors.OpError, ValueError) as error:
            return Outcome(changed=changed, error=str(error).strip().splitlines()[0][:500])
        seconds = time.perf_counter() - begin
    del kept  # expressions live as long as the call
    # A function without results returns None.
    return Outcome([_facts(one) for one in results or ()], changed, seconds)


def _load(functions: Functions) -> bytes:
    """Give the runtime the functions; return the name of the one to call there."""
    try:
        loaded = function_deserialization.load_function_def_library(functions.message())
        name: bytes = loaded[functions.main.signature.name].name
    except (tf.errors.OpError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise FormatError(f"The functions of the bundle are damaged: {str(error)[:300]}") from None
    return name


def _change(functions: Functions, variant: Variant) -> tuple[str, list[Callable[..., object]]]:
    """Change the functions; return what a trial changes, and what has to live as long as the call."""
    for function in functions.by_name.values():
        function.attr.pop(attributes.XLA_COMPILE, None)
    for _, node in functions.nodes():
        node.device = ""
        for name in _STRIPPED:
            node.attr.pop(name, None)
    if variant.until:
        until(functions, variant.until)
    if variant.dtype:
        with_dtype(functions, variant.dtype)  # first: expressions then have its dtype
    changed, kept = "", [with_tensor(functions, name, text) for name, text in variant.tensors]
    if variant.trial:
        tried = with_trial(functions, variant.trial)
        if tried is None:
            raise UsageError(f"Nothing is known to try for the op {variant.trial}.")
        changed = tried[0]
        kept.append(tried[1])
    return changed, kept


@contextlib.contextmanager
def _recorded(variant: Variant) -> Iterator[None]:
    if not variant.record:
        yield
        return
    enable_dump_debug_info(variant.record, variant.mode, -1)
    try:
        yield
    finally:
        disable_dump_debug_info()


def _argument(bundle: Bundle, argument: Argument, wanted: str) -> EagerTensor:
    """Return an argument of the call.

    Args:
      bundle: The bundle.
      argument: The argument.
      wanted: The dtype to compute in; empty for its own.
    """
    own = _dtype(argument)
    values = [_value(bundle, argument, number, own, wanted) for number in argument.values]
    if argument.kind == "value":
        if len(values) != 1:
            raise FormatError(f"The bundle has {len(values)} values of the argument {argument.name}.")
        return values[0]
    dtype = _other(own, wanted)
    if argument.kind == "list":
        made: EagerTensor = gen_list_ops.empty_tensor_list(-1, -1, dtype)
        for value in values:
            made = gen_list_ops.tensor_list_push_back(made, value)
        return made
    shape = None if argument.shape is None else [None if size < 0 else size for size in argument.shape]
    handle: EagerTensor = gen_resource_variable_ops.var_handle_op(
        dtype=tf.float32 if argument.kind == "unused" else dtype,
        shape=tf.TensorShape(shape),
        shared_name=context.anonymous_name(),
    )
    for value in values[:1]:
        gen_resource_variable_ops.assign_variable_op(handle, value)
    return handle


def _cast(value: EagerTensor, wanted: str) -> EagerTensor:
    dtype = _other(value.dtype, wanted)
    cast: EagerTensor = value if dtype == value.dtype else tf.cast(value, dtype)
    return cast


def _other(dtype: tf.DType, wanted: str) -> tf.DType:
    return tf.as_dtype(wanted) if wanted and dtype.name in DTYPES else dtype


def _dtype(argument: Argument) -> tf.DType:
    try:
        return tf.as_dtype(argument.dtype)
    except TypeError:
        raise FormatError(f"The bundle has an argument of the dtype {argument.dtype!r}.") from None


def _value(bundle: Bundle, argument: Argument, number: int, dtype: tf.DType, wanted: str) -> EagerTensor:
    """Return a value of an argument.

    Args:
      bundle: The bundle.
      argument: The argument.
      number: Position of the value.
      dtype: Its dtype in the bundle.
      wanted: The dtype to compute in; empty for its own.
    """
    parts = bundle.header.optionals.get(number)
    if parts is not None:
        return _optional([_value(bundle, argument, one, dtype_of(bundle, one), wanted) for one in parts])
    size = bundle.header.left_out.get(number)
    if size is not None:
        name = argument.title or argument.name
        raise UsageError(
            f"The call cannot run: the value of {name} ({size / _MB:,.3g} MB) was left out of the bundle. "
            "Give keep_replay more bytes when the program records."
        )
    try:
        value: EagerTensor = tf.io.parse_tensor(bundle.values[number], dtype)
    except (tf.errors.OpError, ValueError) as error:
        raise FormatError(f"The value of {argument.name} is damaged: {str(error)[:200]}") from None
    return _cast(value, wanted)


def dtype_of(bundle: Bundle, number: int) -> tf.DType:
    """Return the dtype of a value, as its bytes say it.

    Raises:
      FormatError: It is damaged.
    """
    try:
        return tf.as_dtype(tensor_pb2.TensorProto.FromString(bundle.values[number]).dtype)
    except (DecodeError, TypeError):
        raise FormatError("A value of the bundle is damaged.") from None


def _optional(parts: list[EagerTensor]) -> EagerTensor:
    made: EagerTensor = tf.raw_ops.OptionalFromValue(components=parts) if parts else tf.raw_ops.OptionalNone()
    return made


def _facts(result: EagerTensor) -> dict[str, Any]:
    """Return what is said of a result."""
    dtype = result.dtype
    facts: dict[str, Any] = {"dtype": dtype.name, "shape": [], "digest": "", "bad": [0, 0, 0]}
    if dtype in (tf.resource, tf.variant):
        return facts
    facts |= {"shape": result.shape.as_list(), "digest": digest_of(result)}
    if dtype in MEASURED_DTYPES and not dtype.is_complex:
        array = np.asarray(result._numpy_internal()).astype(np.float64)
        finite = array[np.isfinite(array)]
        facts["bad"] = [
            int(np.isneginf(array).sum()),
            int(np.isposinf(array).sum()),
            int(np.isnan(array).sum()),
        ]
        if finite.size:
            facts |= {"min": float(finite.min()), "max": float(finite.max()), "mean": float(finite.mean())}
    return facts
