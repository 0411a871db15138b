"""Debug tensor watches: which tensors of a session's graph TensorFlow dumps, and where to.

Takes a graph and choices of tensors, and fills ``RunOptions``. The functions have the names and arguments of
``tensorflow.python.debug.lib.debug_utils``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tb_debugger_plugin.capture.tf_types import TfGraph

IDENTITY: Final = "DebugIdentity"
#: Stands for the nodes that TensorFlow makes after it has got the graph, such as those of Grappler.
_ANY_NODE: Final = ("*", -1)


@dataclass(frozen=True)
class WatchOptions:
    """Which tensors of a call are dumped; a ``watch_fn`` returns it.

    Use::

        WatchOptions(["DebugIdentity", "DebugNanCount"], node_name_regex_allowlist="loss/.*")

    The regular expressions match from the beginning; a tensor is dumped if all of them match.

    Attributes:
      debug_ops: One debug op, or several; None = ``DebugIdentity``, which dumps the tensor itself. An op may
        have attributes: ``DebugNumericSummary(lower_bound=-10;upper_bound=10)``.
      node_name_regex_allowlist: For names of nodes; None = all.
      op_type_regex_allowlist: For op types; None = all.
      tensor_dtype_regex_allowlist: For names of dtypes, such as ``float32``; None = all.
      tolerate_debug_op_creation_failures: Whether tensors that a debug op cannot take are left out; otherwise
        they are an error.
    """

    debug_ops: str | Sequence[str] | None = None
    node_name_regex_allowlist: str | None = None
    op_type_regex_allowlist: str | None = None
    tensor_dtype_regex_allowlist: str | None = None
    tolerate_debug_op_creation_failures: bool = False


class _Tensor(NamedTuple):
    """A tensor of a graph, with what regular expressions are compared to."""

    node: str
    slot: int
    op_type: str
    dtype: str


def _tensors(graph: TfGraph) -> Iterator[_Tensor]:
    for op in graph.get_operations():
        for slot, tensor in enumerate(op.outputs):
            yield _Tensor(op.name, slot, op.type, tensor.dtype.name)


def _listed(values: str | Sequence[str] | None) -> list[str]:
    return [values] if isinstance(values, str) else list(values or ())


@dataclass
class _Watch:
    """How a tensor is watched."""

    debug_ops: dict[str, None] = field(default_factory=dict)
    urls: dict[str, None] = field(default_factory=dict)
    is_tolerant: bool = False


class Watches:
    """The watched tensors of one call. Several debuggers may watch the same tensor."""

    def __init__(self) -> None:
        self._watches: dict[tuple[str, int], _Watch] = {}

    def add(self, graph: TfGraph, options: WatchOptions, url: str) -> None:
        """Watch tensors of a graph.

        Args:
          graph: The graph.
          options: Which ones.
          url: Where they are dumped to.
        """
        patterns = [
            None if text is None else re.compile(text)
            for text in (
                options.node_name_regex_allowlist,
                options.op_type_regex_allowlist,
                options.tensor_dtype_regex_allowlist,
            )
        ]
        for tensor in _tensors(graph):
            texts = (tensor.node, tensor.op_type, tensor.dtype)
            if all(one is None or one.match(text) for one, text in zip(patterns, texts, strict=True)):
                self._add((tensor.node, tensor.slot), options, url)
        if patterns == [None, None, None]:
            self._add(_ANY_NODE, options, url)

    def _add(self, tensor: tuple[str, int], options: WatchOptions, url: str) -> None:
        watch = self._watches.setdefault(tensor, _Watch())
        watch.debug_ops.update(dict.fromkeys(_listed(options.debug_ops) or [IDENTITY]))
        watch.urls[url] = None
        watch.is_tolerant |= options.tolerate_debug_op_creation_failures

    def write(self, run_options: Any, *, resets_disk_usage: bool) -> None:
        """Add the watches to ``RunOptions``.

        Args:
          run_options: Takes them.
          resets_disk_usage: Whether ``TFDBG_DISK_BYTES_LIMIT`` counts from here on.
        """
        for (node, slot), watch in self._watches.items():
            add_debug_tensor_watch(
                run_options, node, slot, list(watch.debug_ops), list(watch.urls), watch.is_tolerant
            )
        # Of these, TensorFlow takes all watches together instead of the last one.
        self._watches.pop(_ANY_NODE, None)
        run_options.debug_options.reset_disk_byte_usage = resets_disk_usage


def add_debug_tensor_watch(
    run_options: Any,
    node_name: str,
    output_slot: int = 0,
    debug_ops: str | Sequence[str] = IDENTITY,
    debug_urls: str | Sequence[str] | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
) -> None:
    """Watch one tensor.

    Args:
      run_options: A ``tf.compat.v1.RunOptions``, which is changed.
      node_name: The node.
      output_slot: The number of its output.
      debug_ops: One debug op, or several.
      debug_urls: Where the dumps go, such as ``file:///path/to/dumps``; one or several.
      tolerate_debug_op_creation_failures: Whether a debug op that cannot take the tensor is left out.
      global_step: A number that the dump folder repeats.
    """
    run_options.debug_options.global_step = global_step
    run_options.debug_options.debug_tensor_watch_opts.add(
        node_name=node_name,
        output_slot=output_slot,
        debug_ops=_listed(debug_ops),
        debug_urls=_listed(debug_urls),
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
    )


def watch_graph(
    run_options: Any,
    graph: TfGraph,
    debug_ops: str | Sequence[str] = IDENTITY,
    debug_urls: str | Sequence[str] | None = None,
    node_name_regex_allowlist: str | None = None,
    op_type_regex_allowlist: str | None = None,
    tensor_dtype_regex_allowlist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Watch the tensors of a graph that match all of the given regular expressions.

    Without any, the nodes are watched, too, that TensorFlow makes when it optimizes the graph. While a graph
    is watched, its loops run one iteration after the other.

    Args:
      run_options: A ``tf.compat.v1.RunOptions``, which is changed.
      graph: The graph of the session.
      debug_ops: One debug op, or several.
      debug_urls: Where the dumps go, such as ``file:///path/to/dumps``; one or several.
      node_name_regex_allowlist: For names of nodes, from their beginning.
      op_type_regex_allowlist: For op types.
      tensor_dtype_regex_allowlist: For names of dtypes.
      tolerate_debug_op_creation_failures: Whether tensors that a debug op cannot take are left out.
      global_step: A number that the dump folder repeats.
      reset_disk_byte_usage: Whether ``TFDBG_DISK_BYTES_LIMIT`` counts from here on.

    Raises:
      ValueError: No debug op or no URL is given.
    """
    if not debug_ops or not debug_urls:
        raise ValueError("Give at least one debug op in debug_ops, and one URL in debug_urls.")
    options = WatchOptions(
        debug_ops,
        node_name_regex_allowlist,
        op_type_regex_allowlist,
        tensor_dtype_regex_allowlist,
        tolerate_debug_op_creation_failures,
    )
    watches = Watches()
    for url in _listed(debug_urls):
        watches.add(graph, options, url)
    watches.write(run_options, resets_disk_usage=reset_disk_byte_usage)
    run_options.debug_options.global_step = global_step


def watch_graph_with_denylists(
    run_options: Any,
    graph: TfGraph,
    debug_ops: str | Sequence[str] = IDENTITY,
    debug_urls: str | Sequence[str] | None = None,
    node_name_regex_denylist: str | None = None,
    op_type_regex_denylist: str | None = None,
    tensor_dtype_regex_denylist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Watch the tensors of a graph that match none of the given regular expressions.

    Args:
      run_options: A ``tf.compat.v1.RunOptions``, which is changed.
      graph: The graph of the session.
      debug_ops: One debug op, or several.
      debug_urls: Where the dumps go; one or several.
      node_name_regex_denylist: For names of nodes, from their beginning.
      op_type_regex_denylist: For op types.
      tensor_dtype_regex_denylist: For names of dtypes.
      tolerate_debug_op_creation_failures: Whether tensors that a debug op cannot take are left out.
      global_step: A number that the dump folder repeats.
      reset_disk_byte_usage: Whether ``TFDBG_DISK_BYTES_LIMIT`` counts from here on.
    """
    denied = [
        _matcher(text)
        for text in (node_name_regex_denylist, op_type_regex_denylist, tensor_dtype_regex_denylist)
    ]
    for tensor in _tensors(graph):
        texts = (tensor.node, tensor.op_type, tensor.dtype)
        if not any(is_denied(text) for is_denied, text in zip(denied, texts, strict=True)):
            add_debug_tensor_watch(
                run_options,
                *(tensor.node, tensor.slot, debug_ops, debug_urls),
                tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
                global_step=global_step,
            )
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def _matcher(text: str | None) -> Callable[[str], bool]:
    if not text:
        return lambda name: False
    pattern = re.compile(text)
    return lambda name: pattern.match(name) is not None
