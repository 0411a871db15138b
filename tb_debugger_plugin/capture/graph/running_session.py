"""Adds ops to the graph of a session that has run, and leaves the program's graph as it is.

A session of TensorFlow takes more ops at any time, but only from the graph that it was made for, where the
program would see them. TensorFlow's C API also has `TF_ExtendGraph`, which takes a definition. It is for an
older kind of session, whose first field is that of the present one: the pointer to the C++ session.

Invariant: `can_extend()` has tried all of this on sessions of its own before it is done to the program's.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import re
from collections.abc import Iterator
from typing import Final

import tensorflow as tf
from tensorflow.python.client import _pywrap_tf_session as library
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import ops

from tb_debugger_plugin.capture.graph.definitions import import_into, import_options
from tb_debugger_plugin.capture.tf_types import CObject, GraphDef, TfGraph
from tb_debugger_plugin.errors import RecordingError

#: Oldest and newest version of TensorFlow whose sessions are known to have these fields.
_KNOWN: Final = ((2, 16), (2, 21))
_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
#: Where an object of pybind11 has its pointer: after the header of each Python object.
_AT: Final = object.__basicsize__
_log = logging.getLogger("tb_debugger_plugin")


def extend(session: CObject, definition: GraphDef) -> None:
    """Add ops to the graph of a session.

    Args:
      session: TensorFlow's session, if `can_extend()` is true.
      definition: The new ops; their inputs may be ops that the session has.

    Raises:
      RecordingError: TensorFlow refuses them.
    """
    api = _api()
    data = definition.SerializeToString()
    status = ctypes.c_void_p(api.TF_NewStatus())
    try:
        api.TF_ExtendGraph(ctypes.c_void_p(_address(session)), data, ctypes.c_size_t(len(data)), status)
        if api.TF_GetCode(status):
            raise RecordingError(ctypes.string_at(api.TF_Message(status)).decode(errors="replace"))
    finally:
        api.TF_DeleteStatus(status)


@functools.cache
def can_extend() -> bool:
    """Whether sessions of this TensorFlow can be extended."""
    version = tuple(map(int, re.findall(r"\d+", tf.__version__)[:2]))
    if not _KNOWN[0] <= version <= _KNOWN[1]:
        return False
    try:
        return _has_known_fields() and _runs_what_it_gets()
    except Exception as error:  # another build of TensorFlow
        _log.debug("Sessions that have run cannot be watched:", exc_info=error)
        return False


def _has_known_fields() -> bool:
    """Whether sessions of one graph share their second field, the graph, and not their first."""
    first, second = ops.Graph(), ops.Graph()
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(_session_of(graph)) for graph in (first, first, second)]
        one, same_graph, other = map(_fields, sessions)
        has_graphs = one[1] == same_graph[1] != other[1]
        return has_graphs and len({one[0], same_graph[0], other[0]}) == len(sessions)


def _runs_what_it_gets() -> bool:
    has, gets = _definition_with("before"), _definition_with("added")
    graph, names = ops.Graph(), ops.Graph()
    import_into(graph, has, import_options())
    import_into(names, gets, import_options())
    ran, added = (one._add_new_tf_operations(compute_devices=False)[0] for one in (graph, names))
    with _session_of(graph) as session:
        c_api.ExtendSession(session)
        outputs = [ran.outputs[0]._as_tf_output()]
        c_api.TF_SessionRun_wrapper(session, None, {}, outputs, [], None)
        extend(session, gets)
        outputs.append(added.outputs[0]._as_tf_output())
        return all(c_api.TF_SessionRun_wrapper(session, None, {}, outputs, [], None))


def _definition_with(name: str) -> GraphDef:
    """Return a definition with a constant that is true."""
    definition = GraphDef(versions=ops.Graph().as_graph_def().versions)
    node = definition.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.bool.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(True))
    return definition


@contextlib.contextmanager
def _session_of(graph: TfGraph) -> Iterator[CObject]:
    options = c_api.TF_NewSessionOptions(target=None, config=None)
    with graph._c_graph.get() as c_graph:
        session = c_api.TF_NewSessionRef(c_graph, options)
    try:
        yield session
    finally:
        c_api.TF_DeleteSessionOptions(options)
        c_api.TF_CloseSession(session)
        c_api.TF_DeleteSession(session)


def _fields(session: CObject) -> tuple[int, int]:
    first, second = (ctypes.c_size_t * 2).from_address(_address(session))
    return first, second


def _address(session: CObject) -> int:
    """Return the address of TensorFlow's `TF_Session`."""
    address = ctypes.c_size_t.from_address(id(session) + _AT).value
    if not address or address % _POINTER:
        raise RecordingError("TensorFlow's session is not where it is known to be")
    return int(address)


@functools.cache
def _api() -> ctypes.CDLL:
    api = ctypes.CDLL(library.__file__)
    for name in ("TF_NewStatus", "TF_Message"):
        getattr(api, name).restype = ctypes.c_void_p
    return api
