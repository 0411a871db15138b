"""Debug tensor watches: which tensors of a session's graph TensorFlow dumps, and where to.

Takes a graph and choices of tensors, and fills ``RunOptions``. The functions have the names and arguments of
``tensorflow.python.debug.lib.debug_utils``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from tb_debugger_plugin.capture.tf_types import TfGraph, TfOp
from tb_debugger_plugin.tfdbg.asked import RunOptions

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

    @property
    def watches_all(self) -> bool:
        """Whether there is no regular expression."""
        return not (
            self.node_name_regex_allowlist
            or self.op_type_regex_allowlist
            or self.tensor_dtype_regex_allowlist
        )


#: Whether a tensor is chosen: by its op, and the number of its output.
_IsChosen: TypeAlias = Callable[[TfOp, int], bool]


def _allowed(options: WatchOptions) -> _IsChosen:
    name, op_type, dtype = (
        _matcher(text, without=True)
        for text in (
            options.node_name_regex_allowlist,
            options.op_type_regex_allowlist,
            options.tensor_dtype_regex_allowlist,
        )
    )
    if not options.tensor_dtype_regex_allowlist:
        return lambda op, slot: name(op.name) and op_type(op.type)
    return lambda op, slot: name(op.name) and op_type(op.type) and dtype(op.outputs[slot].dtype.name)


def _matcher(text: str | None, *, without: bool) -> Callable[[str], bool]:
    """Whether a regular expression matches from the beginning; `without` if there is none."""
    if not text:
        return lambda name: without
    pattern = re.compile(text)
    return lambda name: pattern.match(name) is not None


def _chosen(graph: TfGraph, is_chosen: _IsChosen) -> Iterator[tuple[str, int]]:
    for op in graph.get_operations():
        for slot in range(len(op.outputs)):
            if is_chosen(op, slot):
                yield op.name, slot


def _listed(values: str | Sequence[str] | None) -> list[str]:
    return [values] if isinstance(values, str) else list(values or ())


class _Watch(NamedTuple):
    """How tensors are watched."""

    debug_ops: list[str]
    urls: list[str]
    is_tolerant: bool


def _joined(watches: Sequence[_Watch]) -> _Watch:
    if len(watches) == 1:
        return watches[0]
    debug_ops = dict.fromkeys(op for watch in watches for op in watch.debug_ops)
    urls = dict.fromkeys(url for watch in watches for url in watch.urls)
    return _Watch(list(debug_ops), list(urls), any(watch.is_tolerant for watch in watches))


class Watches:
    """The watched tensors of one call. Several debuggers may watch the same tensor."""

    def __init__(self) -> None:
        self._watches: dict[tuple[str, int], list[_Watch]] = {}

    def add(self, graph: TfGraph, options: WatchOptions, *urls: str) -> None:
        """Watch tensors of a graph.

        Args:
          graph: The graph.
          options: Which ones.
          *urls: Where they are dumped to.
        """
        debug_ops = _listed(options.debug_ops) or [IDENTITY]
        watch = _Watch(debug_ops, list(urls), options.tolerate_debug_op_creation_failures)
        for tensor in _chosen(graph, _allowed(options)):
            self._watches.setdefault(tensor, []).append(watch)
        if options.watches_all:
            self._watches.setdefault(_ANY_NODE, []).append(watch)

    def write(self, run_options: RunOptions, *, resets_disk_usage: bool, global_step: int = -1) -> None:
        """Add the watches to ``RunOptions``.

        Args:
          run_options: Takes them.
          resets_disk_usage: Whether ``TFDBG_DISK_BYTES_LIMIT`` counts from here on.
          global_step: A number that the dump folder repeats.
        """
        for (node, slot), watches in self._watches.items():
            add_debug_tensor_watch(run_options, node, slot, *_joined(watches), global_step)
        # Of these, TensorFlow takes all watches together instead of the last one.
        self._watches.pop(_ANY_NODE, None)
        run_options.debug_options.reset_disk_byte_usage = resets_disk_usage


def add_debug_tensor_watch(
    run_options: RunOptions,
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
    debug_options = run_options.debug_options
    debug_options.global_step = global_step
    watch = debug_options.debug_tensor_watch_opts.add()
    watch.node_name, watch.output_slot = node_name, output_slot
    watch.debug_ops.extend(_listed(debug_ops))
    watch.debug_urls.extend(_listed(debug_urls))
    watch.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures


def watch_graph(
    run_options: RunOptions,
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
    watches.add(graph, options, *_listed(debug_urls))
    watches.write(run_options, resets_disk_usage=reset_disk_byte_usage, global_step=global_step)


def watch_graph_with_denylists(
    run_options: RunOptions,
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
    name, op_type, dtype = (
        _matcher(text, without=False)
        for text in (node_name_regex_denylist, op_type_regex_denylist, tensor_dtype_regex_denylist)
    )

    def is_chosen(op: TfOp, slot: int) -> bool:
        return not (name(op.name) or op_type(op.type) or dtype(op.outputs[slot].dtype.name))

    for node, slot in _chosen(graph, is_chosen):
        watch = (debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step)
        add_debug_tensor_watch(run_options, node, slot, *watch)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
