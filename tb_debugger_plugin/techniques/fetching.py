"""Returns any tensors inside a function beside its results.

The call is recorded into a temporary folder. Only the wanted tensors are watched, so every function, loop,
branch and gradient is covered, and the program computes what it does without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.keep_values import KeepValues
from tb_debugger_plugin.capture.temporary import KeptTensor, KeptValues, begin_to_fetch, kept_values
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.expressions.names import node_of, suggestion

#: The value of a tensor, or its values if it was computed several times.
Fetched: TypeAlias = "Array | list[Array]"


def fetch(
    function: Callable[..., object], names: str | Sequence[str]
) -> Callable[..., tuple[Any, dict[str, Fetched]]]:
    """Return tensors inside a function by name, beside its results.

    Use::

        loss, values = tb_debugger_plugin.fetch(train_step, ["hidden", "dense/MatMul:0"])(images, labels)
        values["hidden"].shape

    The function runs once, and computes what it does without `fetch`. It may be anything that calls functions
    of TensorFlow: a `tf.function`, a Keras model, `model.fit`, a run of a session. Tensors inside functions
    that it calls, in loops, branches and gradients are found too. Of functions that XLA compiles, only the
    arguments, results and constants are.

    Args:
      function: What to call.
      names: Names of ops (all outputs) or of tensors such as `"split:1"`, with or without their scopes; paths
        of Keras layers (all tensors of the layer); or regular expressions, which must occur in the name of an
        op. The first of these meanings that finds a tensor counts.

    Returns:
      A function with the same arguments. It returns the result, and a dict of NumPy arrays. If a name stands
      for one tensor, it is the key; the keys of several are `"op:slot"`. A tensor that was computed several
      times, as in a loop, has a list of arrays, in the order of time.

    Raises:
      UsageError: When it is called: a recording is on, or, after the call, no tensor has such a name. It is a
        `ValueError`.
    """
    requests = (names,) if isinstance(names, str) else tuple(names)
    rules = _rules(requests)

    def call(*args: object, **kwargs: object) -> tuple[Any, dict[str, Fetched]]:
        recording = begin_to_fetch(rules)
        try:
            result = function(*args, **kwargs)
            recording.FlushExecutionFiles()
            return result, _found(kept_values(recording), requests)
        finally:
            recording.close()

    return call


def _rules(requests: Sequence[str]) -> tuple[KeepValues, ...]:
    """Return the rules by which the values that any request may mean are kept."""
    if not requests:
        raise UsageError("names is empty: give the names of the tensors to fetch.")
    names = "|".join(
        f"(^|/){re.escape(request.partition(':')[0])}$|(?:{_checked(request)})" for request in requests
    )
    layers = "|".join(f"^{re.escape(request)}$" for request in requests)
    unlimited = KeepValues(max_tensor_bytes=None, max_total_bytes=None)
    return replace(unlimited, name_regex=names), replace(unlimited, layer_regex=layers)


def _checked(request: str) -> str:
    """Return a request as a regular expression; its text if it is none."""
    try:
        re.compile(request)
    except re.error:
        return re.escape(request)
    return request


def _found(kept: KeptValues, requests: Sequence[str]) -> dict[str, Fetched]:
    found: dict[str, Fetched] = {}
    for request in requests:
        chosen = _chosen(request, kept)
        if not chosen:
            raise UsageError(_sentence(request, kept.ops))
        for key, tensor in chosen.items():
            values = kept.values[tensor]
            found[key] = values[0] if len(values) == 1 else values
    return found


def _chosen(request: str, kept: KeptValues) -> dict[str, KeptTensor]:
    """Return the tensors that a request stands for, by key."""
    end = f"/{request}"
    tensors = list(kept.values)
    exact = [one for one in tensors if request in (one.op_name, one.name)]
    if not exact:
        exact = [one for one in tensors if one.op_name.endswith(end) or one.name.endswith(end)]
    if len(exact) == 1:
        return {request: exact[0]}
    if not exact:
        exact = kept.in_layer.get(request, [])
    if not exact:
        pattern = re.compile(_checked(request))
        exact = [one for one in tensors if pattern.search(one.op_name)]
    return {one.name: one for one in exact}


def _sentence(request: str, ops: set[str]) -> str:
    if not ops:
        return f"No tensor {request!r} was computed: there is no function of TensorFlow."
    return (
        f"No tensor {request!r} was computed; {suggestion(node_of(request), ops)} Tensors inside functions"
        " that XLA compiles cannot be fetched."
    )
