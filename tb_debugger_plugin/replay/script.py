"""Writes a bundle as a Python program that needs only TensorFlow, for an issue report."""

from __future__ import annotations

import base64
import json
import textwrap
import zlib
from pathlib import Path
from typing import Final

from tb_debugger_plugin.events.bundle import Bundle
from tb_debugger_plugin.replay.allowed import check_ops
from tb_debugger_plugin.replay.call import dtype_of
from tb_debugger_plugin.replay.functions import Functions

#: From this size on, the data are a file beside the program.
_MAX_INSIDE: Final = 200_000
_PROGRAM: Final = '''\
"""A call of {title}, recorded with TensorFlow {version}. Bad after it: {bad}.

It needs only TensorFlow: python {file}
"""

import base64, json, zlib
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.python.eager import context
from tensorflow.python.ops import gen_list_ops, gen_resource_variable_ops
from tensorflow.python.saved_model import function_deserialization

MAIN = {main!r}
ARGUMENTS = json.loads({arguments!r})
SIZES = {sizes!r}
OPTIONALS = {optionals!r}


def tensor(number, dtype):
    if number not in OPTIONALS:
        return tf.io.parse_tensor(DATA[number], dtype)
    parts = [tensor(*one) for one in OPTIONALS[number]]
    return tf.raw_ops.OptionalFromValue(components=parts) if parts else tf.raw_ops.OptionalNone()


def argument(kind, dtype, values):
    tensors = [tensor(number, dtype) for number in values]
    if kind == "value":
        return tensors[0]
    if kind == "list":
        made = gen_list_ops.empty_tensor_list(-1, -1, tf.as_dtype(dtype))
        for one in tensors:
            made = gen_list_ops.tensor_list_push_back(made, one)
        return made
    handle = gen_resource_variable_ops.var_handle_op(
        dtype=tf.float32 if kind == "unused" else dtype, shape=None, shared_name=context.anonymous_name()
    )
    if tensors:
        gen_resource_variable_ops.assign_variable_op(handle, tensors[0])
    return handle


packed = {data}
parts = zlib.decompress(packed)
DATA = [parts[sum(SIZES[:k]) : sum(SIZES[: k + 1])] for k in range(len(SIZES))]
library = function_pb2.FunctionDefLibrary.FromString(DATA[-1])
functions = function_deserialization.load_function_def_library(library)
name = functions[MAIN].name
results = context.context().call_function(name, [argument(*one) for one in ARGUMENTS], {num_results})
for number, result in enumerate(results or ()):
    words = f"result {{number}}: {{result.dtype.name}} {{list(result.shape)}}"
    print(words + (f", all finite: {{np.isfinite(result).all()}}" if result.dtype.is_floating else ""))
'''


def script_of(bundle: Bundle, path: Path) -> None:
    """Write a bundle as a program.

    Args:
      bundle: The bundle.
      path: The file of the program; large data go beside it, with the ending ``.data``.

    Raises:
      FormatError: The bundle is refused.
      OSError: It cannot be written.
    """
    header = bundle.header
    functions = Functions(bundle.functions, header.function)
    check_ops(functions)
    parts = [*bundle.values, functions.message().SerializeToString()]
    packed = zlib.compress(b"".join(parts), 9)
    if len(packed) <= _MAX_INSIDE:
        lines = textwrap.wrap(base64.b85encode(packed).decode(), 100)
        data = "base64.b85decode(\n" + "".join(f"    {line!r}\n" for line in lines) + ")"
    else:
        beside = path.with_suffix(".data")
        beside.write_bytes(packed)
        data = f"(Path(__file__).parent / {beside.name!r}).read_bytes()"
    path.write_text(
        _PROGRAM.format(
            title=_plain(header.title),
            version=_plain(header.versions.get("tensorflow", "?")),
            bad=_plain(", ".join(header.bad)),
            file=path.name,
            main=header.function,
            arguments=json.dumps([[one.kind, one.dtype, one.values] for one in header.arguments]),
            sizes=[len(part) for part in parts],
            optionals={
                number: [(part, dtype_of(bundle, part).name) for part in parts]
                for number, parts in header.optionals.items()
            },
            num_results=len(functions.main.signature.output_arg),
            data=data,
        ),
        "utf-8",
    )


def _plain(text: str) -> str:
    """Return a text that ends no string of the program."""
    return "".join(c for c in text if c.isprintable() and c not in '"\\')
