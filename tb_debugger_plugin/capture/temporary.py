"""Recordings into a temporary folder: to stop at the first bad value, and to fetch values of one call.

Invariant: the folder is removed when the recording ends.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tensorflow.core.framework import tensor_pb2

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.graph.attributes import constant_value
from tb_debugger_plugin.capture.keep_values import KeepValues
from tb_debugger_plugin.capture.on_alert import OnAlert, make_on_alert
from tb_debugger_plugin.capture.options import Options, make_options
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.errors import RecordingError, UsageError
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES, GRAPHS, find_file_sets, read_with_tail
from tb_debugger_plugin.events.modes import TensorDebugMode

#: The tensors that `check_numerics` has on record to explain a bad value.
_CHECKED_TENSORS = 10_000


def check_numerics(
    stack_height_limit: int = 30,
    path_length_limit: int = 50,
    *,
    kinds: Iterable[str] | None = None,
    ignore: Iterable[str] | str = (),
) -> None:
    """Raise a `NumericsError` as soon as any op computes an infinity or NaN, with the reason in its text.

    A drop-in for `tf.debugging.enable_check_numerics`. Call it once, at any time::

        tb_debugger_plugin.check_numerics()
        ...  # the program

    It covers all threads, gradients, and functions that were traced before, also those that XLA compiles,
    which raise after their call. It records the last 10,000 tensors into a temporary folder to explain the
    value, and removes the folder at the end. If a recording is on, give it `on_alert="raise"` instead. A
    second call with the same arguments does nothing.

    Args:
      stack_height_limit: Accepted as TensorFlow's function does, and not needed: the error names the line of
        the program.
      path_length_limit: The same.
      kinds: The bad values that count; see `alert_kinds` of `enable_dump_debug_info`.
      ignore: Ops whose bad values are meant; see `ignore_alerts` of `enable_dump_debug_info`.

    Raises:
      UsageError: An argument cannot be used, or a recording is on. It is a `ValueError`.
      RecordingError: There is no folder for temporary files. It is a `RuntimeError`.
    """
    del stack_height_limit, path_length_limit
    on_alert = make_on_alert("raise", kinds, ignore)
    with api.current_lock:
        on = api.running()
        if on is not None:
            if not _checks(on):
                raise UsageError(
                    f"A recording to {on.dump_root} is on: give on_alert='raise' to its "
                    "enable_dump_debug_info() or record(), or call disable_dump_debug_info() before "
                    "check_numerics()."
                )
            if on.requested.on_alert == on_alert:
                return
            on.close()
        _begin(_temporary(on_alert))


def _begin(options: Options) -> Recording:
    try:
        return api.begin(options)
    except BaseException:
        shutil.rmtree(options.dump_root, ignore_errors=True)
        raise


def _temporary(on_alert: OnAlert | None) -> Options:
    try:
        folder = tempfile.mkdtemp(prefix="tb_debugger_")
    except OSError as error:
        raise RecordingError(
            f"There is no folder for temporary files ({error}): set TMPDIR to one."
        ) from error
    return make_options(folder, "FULL_HEALTH", _CHECKED_TENSORS, on_alert=on_alert, is_temporary=True)


def _checks(recording: Recording) -> bool:
    """Whether `check_numerics` began a recording."""
    return recording.requested.is_temporary and recording.requested.on_alert is not None


def begin_to_fetch(rules: tuple[KeepValues, ...]) -> Recording:
    """Begin a recording into a temporary folder that keeps only some values: for `techniques.fetching`.

    Args:
      rules: The values.

    Raises:
      UsageError: A recording is on.
      RecordingError: There is no folder for temporary files.
    """
    with api.current_lock:
        on = api.running()
        if on is not None:
            what = "check_numerics() is on" if _checks(on) else f"a recording to {on.dump_root} is on"
            raise UsageError(
                f"fetch() records the call, and {what}: there is one recording at a time. End it before, or "
                "give keep_values to the recording."
            )
        return _begin(
            replace(
                _temporary(None),
                mode=TensorDebugMode.NO_TENSOR,
                circular_buffer_size=-1,
                keep_values=rules,
                only_kept=True,
            )
        )


class KeptTensor(NamedTuple):
    """A tensor of any graph.

    Attributes:
      op_name: Name of its op.
      slot: Number of the output.
    """

    op_name: str
    slot: int

    @property
    def name(self) -> str:
        """The op and the slot, such as ``Log:0``."""
        return f"{self.op_name}:{self.slot}"


class KeptValues(NamedTuple):
    """What a recording has kept.

    Attributes:
      values: The values of each tensor in the order of time.
      in_layer: The tensors that were computed by layer, once for each value.
      ops: The names of all ops of the graphs.
    """

    values: dict[KeptTensor, list[Array]]
    in_layer: dict[str, list[KeptTensor]]
    ops: set[str]


def kept_values(recording: Recording) -> KeptValues:
    """Return the values that a recording has kept, which must be in the files."""
    (files,) = find_file_sets(Path(recording.dump_root))
    layers: dict[tuple[str, str], str] = {}
    for record in read_with_tail(files, GRAPHS).records:
        if record.event.WhichOneof("what") == "graph_op_creation":
            creation = record.event.graph_op_creation
            layers[creation.graph_id, creation.op_name] = creation.layer
    kept = KeptValues({}, {}, {name for _, name in layers})
    for record in read_with_tail(files, GRAPH_EXECUTION_TRACES).records:
        trace = record.event.graph_execution_trace
        if trace.tensor_debug_mode == TensorDebugMode.FULL_TENSOR:
            tensor = KeptTensor(trace.op_name, trace.output_slot)
            proto = tensor_pb2.TensorProto.FromString(trace.tensor_proto.SerializeToString())
            kept.values.setdefault(tensor, []).append(constant_value(proto))
            kept.in_layer.setdefault(layers[trace.tfdbg_context_id, trace.op_name], []).append(tensor)
    return kept


def disable_check_numerics() -> None:
    """End what `check_numerics` began; does nothing when it is not on."""
    with api.current_lock:
        on = api.running()
        if on is not None and _checks(on):
            on.close()
