"""Writes a bad call as a bundle, which runs again without the program; see `events.bundle`.

The function of a bundle is the copy that a replay runs, without watch ops. Values are those that the guard
holds; of variables that the call only reads, their present values.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import gen_list_ops, gen_resource_variable_ops

from tb_debugger_plugin.capture.engines.guard.copies import Guarded, argument_names
from tb_debugger_plugin.capture.engines.guard.replay_copies import Edited, ReplayCopies
from tb_debugger_plugin.capture.engines.guard.taken import Taken, Variable
from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.graph.definitions import definition_of
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.tf_types import EagerTensor, FuncGraph, FunctionDefLibrary
from tb_debugger_plugin.errors import RecordingError
from tb_debugger_plugin.events.bundle import Argument, Bundle, Header, Result, suffix, write_bundle

#: Packages whose versions a bundle names.
_PACKAGES: Final = ("tensorflow", "keras", "numpy", "tb-debugger-plugin")


@dataclass(frozen=True)
class Call:
    """What is known of a bad call.

    Attributes:
      guarded: Its function.
      held: What is held of it, in the order of `Guarded.held`.
      inputs: Its inputs.
      outputs: Its results.
      title: Name of the function in the program.
      index: Its number, among the calls of the function.
      step: The step of the program; None if the program marks none.
      bad: What was bad after it, in words.
    """

    guarded: Guarded
    held: Sequence[EagerTensor]
    inputs: Sequence[EagerTensor]
    outputs: Sequence[EagerTensor]
    title: str
    index: int
    step: int | None
    bad: Sequence[str]


class Bundles:
    """The bundles of one recording.

    Args:
      prefix: The common beginning of the paths of the event files.
      functions: The functions of the program.
      taken: Returns what a guard takes of a function that another one calls.
      max_bytes: Size of all bundles.
      names: Returns the names of the variables of a graph, by argument.
    """

    def __init__(
        self,
        prefix: str,
        functions: FunctionTable,
        taken: Callable[[str], Taken | None],
        max_bytes: int,
        names: Callable[[FuncGraph], Mapping[str, str]],
    ) -> None:
        self._prefix = prefix
        self._copies = ReplayCopies(functions, taken, lambda f: Edited(definition_of(f)), "bundled")
        self._left = max_bytes
        self._names = names
        self._number = 0

    def write(self, call: Call) -> str:
        """Write the bundle of a bad call; return a sentence for the log.

        Args:
          call: The call.

        Raises:
          Exception: It cannot be written.
        """
        taken = call.guarded.taken
        function = self._copies.define(taken.function, taken)
        functions = _library_of(function).SerializeToString()
        values = _Values()
        arguments = self._arguments(call, values)
        left_out = values.within(self._left - len(functions))
        header = Header(
            function=function,
            original=taken.function.name,
            title=call.title,
            call=call.index,
            step=call.step,
            wall_time=time.time(),
            bad=tuple(call.bad),
            arguments=tuple(arguments),
            results=tuple(map(_result, call.outputs)),
            sizes=tuple(map(len, values.written)),
            left_out=left_out,
            optionals=values.optionals,
            versions=_versions(),
        )
        self._number += 1
        path = Path(self._prefix + suffix(self._number))
        write_bundle(path, Bundle(header, functions, values.written))
        self._left -= path.stat().st_size
        words = f"`tbdbg replay {path}` runs it again."
        if left_out:
            size = sum(left_out.values()) / 1e6
            words += f" {len(left_out)} of its values ({size:,.3g} MB) are left out because of keep_replay."
        return words

    def _arguments(self, call: Call, values: _Values) -> list[Argument]:
        guarded, taken = call.guarded, call.guarded.taken
        held = iter(call.held)
        known = dict(zip((*guarded.arguments, *taken.old), held, strict=False))
        titles = self._names(taken.function.graph)
        made = []
        for name, given in zip(argument_names(taken.function), call.inputs, strict=True):
            if name in taken.variables:
                value = known.get(name) if name in taken.changed else _read(given, taken.variables[name])
                numbers = () if value is None else (values.add(value),)
                made.append(_variable(name, taken.variables[name], titles.get(name, name), numbers))
            elif name in taken.others:
                made.append(Argument(name, "unused", "resource"))
            else:
                made.append(_argument(name, known[name], values))
        is_list = [each for kept in taken.kept for each in kept.is_list]
        for index, value in enumerate(held):
            name = f"kept {index}"
            inside = taken.inside[index]
            if is_list[index]:
                dtype = tf.as_dtype(taken.items[index])
                elements = tuple([values.add(one, inside) for one in _elements(value, dtype)])
                made.append(Argument(name, "list", dtype.name, values=elements))
            else:
                made.append(_argument(name, value, values, inside))
        return made


def _argument(name: str, value: EagerTensor, values: _Values, inside: Sequence[int] = ()) -> Argument:
    return Argument(name, "value", value.dtype.name, values=(values.add(value, inside),))


def _variable(name: str, variable: Variable, title: str, numbers: tuple[int, ...]) -> Argument:
    shape = None
    if variable.shape.rank is not None:
        shape = tuple([-1 if size is None else size for size in variable.shape.as_list()])
    return Argument(name, "variable", variable.dtype.name, shape, title, numbers)


def _read(handle: EagerTensor, variable: Variable) -> EagerTensor:
    value: EagerTensor = gen_resource_variable_ops.read_variable_op(handle, dtype=variable.dtype)
    return value


class _Values:
    """Serialised values.

    Attributes:
      written: The values.
      optionals: What is in optionals: the positions of their parts by their own.
    """

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.optionals: dict[int, tuple[int, ...]] = {}

    def add(self, value: EagerTensor, inside: Sequence[int] = ()) -> int:
        """Add a value; return its position.

        Args:
          value: The value.
          inside: The dtypes of what is in it, if it is an optional.
        """
        if inside:
            parts = tuple([self.add(part) for part in _parts(value, inside)])
            self.written.append(b"")
            self.optionals[len(self.written) - 1] = parts
            return len(self.written) - 1
        if value.dtype in (tf.variant, tf.resource):
            raise RecordingError("one of its arguments is no tensor of numbers or texts")
        self.written.append(tf.io.serialize_tensor(value).numpy())
        return len(self.written) - 1

    def within(self, limit: int) -> dict[int, int]:
        """Leave out the largest values until the others fit; return the sizes of those by position."""
        sizes = {position: len(value) for position, value in enumerate(self.written)}
        total = sum(sizes.values())
        left_out = {}
        for position in sorted(sizes, key=lambda one: -sizes[one]):
            if total <= limit:
                break
            total -= sizes[position]
            left_out[position] = sizes[position]
            self.written[position] = b""
        return left_out


def _parts(optional: EagerTensor, dtypes: Sequence[int]) -> list[EagerTensor]:
    """Return what is in an optional; nothing if it is empty."""
    if not bool(tf.raw_ops.OptionalHasValue(optional=optional)):
        return []
    types = [tf.as_dtype(dtype) for dtype in dtypes]
    shapes = [tf.TensorShape(None)] * len(types)
    return list(tf.raw_ops.OptionalGetValue(optional=optional, output_types=types, output_shapes=shapes))


def _elements(tensors: EagerTensor, dtype: tf.DType) -> list[EagerTensor]:
    """Return the tensors of a list, the last one first: a replay takes from the end."""
    found = []
    for _ in range(int(gen_list_ops.tensor_list_length(tensors))):
        tensors, last = gen_list_ops.tensor_list_pop_back(tensors, -1, dtype)
        found.append(last)
    return found


def _library_of(name: str) -> FunctionDefLibrary:
    """Return a function with all that it calls, as the runtime has them."""
    runtime = context.context()
    library, waiting, seen = FunctionDefLibrary(), [name], {name}
    while waiting:
        # The method of the class: that of the instance returns the program's definition.
        definition = context.Context.get_function_def(runtime, waiting.pop())
        library.function.append(definition)
        for node in definition.node_def:
            for called in functions_named(node):
                if called.name not in seen:
                    seen.add(called.name)
                    waiting.append(called.name)
    return library


def _result(output: EagerTensor) -> Result:
    is_compared = output.dtype.is_numpy_compatible and output.dtype not in (tf.resource, tf.variant)
    if not is_compared:
        return Result(output.dtype.name, (), "")
    return Result(output.dtype.name, tuple(output.shape.as_list()), digest_of(output))


def digest_of(tensor: EagerTensor) -> str:
    """Return the SHA-256 of a tensor: equal for equal bits, whatever sign and payload a NaN has."""
    if tensor.dtype.is_floating:
        tensor = tf.where(tf.not_equal(tensor, tensor), tf.constant(np.nan, tensor.dtype), tensor)
    return hashlib.sha256(tf.io.serialize_tensor(tensor).numpy()).hexdigest()


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # such as another build of TensorFlow
            continue
    versions["tensorflow"] = tf.__version__
    versions["oneDNN"] = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default")
    return versions
