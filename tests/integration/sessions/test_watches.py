"""`tfdbg/watches.py`: watches are those of TensorFlow's own functions of the same names."""

from __future__ import annotations

import itertools

import pytest
from tensorflow.python.debug.lib import debug_utils

from tb_debugger_plugin import tfdbg
from tb_debugger_plugin.tfdbg.watches import Watches
from tests.support.session_nets import Net, v1

_URL = "file:///dumps"


@pytest.fixture(scope="module")
def net():
    return Net()


def _watched(function, *args, **kwargs):
    options = v1.RunOptions(timeout_in_ms=7)
    function(options, *args, **kwargs)
    return options


@pytest.mark.parametrize(
    ("name", "op_type", "dtype"),
    list(itertools.product((None, "lo", "(logs|scaled)$"), (None, "Log|Mul"), (None, "float32", "int"))),
)
@pytest.mark.parametrize("kind", ["allow", "deny"])
def test_graphs_are_watched_as_tensorflow_watches_them(net, kind, name, op_type, dtype):
    function = "watch_graph" if kind == "allow" else "watch_graph_with_denylists"
    patterns = {
        f"node_name_regex_{kind}list": name,
        f"op_type_regex_{kind}list": op_type,
        f"tensor_dtype_regex_{kind}list": dtype,
    }
    ours = _watched(getattr(tfdbg, function), net.graph, debug_urls=_URL, **patterns)
    assert ours == _watched(getattr(debug_utils, function), net.graph, debug_urls=_URL, **patterns)


def test_all_arguments_are_taken(net):
    given = {
        "debug_ops": ["DebugIdentity", "DebugNumericSummary(lower_bound=-1.0;upper_bound=1.0)"],
        "debug_urls": [_URL, "grpc://localhost:6064"],
        "tolerate_debug_op_creation_failures": True,
        "global_step": 3,
    }
    more = {"reset_disk_byte_usage": True}
    ours = _watched(tfdbg.watch_graph, net.graph, **given, **more)
    assert ours == _watched(debug_utils.watch_graph, net.graph, **given, **more)
    ours = _watched(tfdbg.add_debug_tensor_watch, "logs", 0, **given)
    assert ours == _watched(debug_utils.add_debug_tensor_watch, "logs", 0, **given)


def test_something_to_watch_with_and_somewhere_to_write_to_are_needed(net):
    with pytest.raises(ValueError, match="Give at least one debug op"):
        tfdbg.watch_graph(v1.RunOptions(), net.graph, debug_ops=[], debug_urls=_URL)
    with pytest.raises(ValueError, match="one URL in debug_urls"):
        tfdbg.watch_graph(v1.RunOptions(), net.graph)


def test_debuggers_that_watch_the_same_tensor_share_one_watch(net):
    watches, options = Watches(), v1.RunOptions()
    watches.add(net.graph, tfdbg.WatchOptions("DebugIdentity", "logs"), "file:///a")
    watches.add(
        net.graph, tfdbg.WatchOptions("DebugNanCount", "(logs|scaled)$", None, None, True), "file:///b"
    )
    watches.write(options, resets_disk_usage=False)
    found = {one.node_name: one for one in options.debug_options.debug_tensor_watch_opts}
    assert found.keys() == {"logs", "scaled"}
    assert list(found["logs"].debug_ops) == ["DebugIdentity", "DebugNanCount"]
    assert list(found["logs"].debug_urls) == ["file:///a", "file:///b"]
    assert found["logs"].tolerate_debug_op_creation_failures
    assert list(found["scaled"].debug_urls) == ["file:///b"]
