"""The recording of the process: begun, ended, asked for.

What users call. Rule: there is at most one recording at a time, and every way in which a program can begin or
end one, or end itself, is defined here.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tb_debugger_plugin.capture.options import MAX_TENSOR_BYTES, DTypeFilter, Options, as_given, make_options
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.errors import UsageError

#: The last recording, on or ended.
_current: Recording | None = None
_current_lock = threading.RLock()  # guards _current
_log = logging.getLogger("tb_debugger_plugin")


def enable_dump_debug_info(
    dump_root: str | os.PathLike[str] | None = None,
    tensor_debug_mode: str = "NO_TENSOR",
    circular_buffer_size: int = 1000,
    op_regex: str | None = None,
    tensor_dtypes: DTypeFilter = None,
    *,
    logdir: str | os.PathLike[str] | None = None,
    function_regex: str | None = None,
    name_regex: str | None = None,
    every_n_steps: int = 1,
    step_range: tuple[int, int | None] | None = None,
    max_tensor_bytes: int | None = MAX_TENSOR_BYTES,
    keep_graph_optimizations: bool = False,
) -> Recording:
    """Record what the program computes from now on, for the debugger's page in TensorBoard.

    A drop-in for `tf.debugging.experimental.enable_dump_debug_info`. Call it once, at any time; functions
    that were traced before are recorded too (but not input pipelines that were made before: the log names
    their functions)::

        tb_debugger_plugin.enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", circular_buffer_size=-1)

    There is one recording in a process, and it sees all threads; TensorFlow's own function records the thread
    that calls it. Files are flushed when the program ends. While a recording is on, a second call for the
    same folder with the same arguments returns it, and with others it raises, since what is watched was
    chosen when it began. One for another folder ends it and begins another one; the log says so. A folder
    that was recorded into before gets further files, beside the others.

    Args:
      dump_root: Folder for the event files, made if it is not there; what `tensorboard --logdir` is told, or
        a folder anywhere below that.
      tensor_debug_mode: What is recorded of each tensor. `"NO_TENSOR"` (the default): only that it was
        computed; `"CURT_HEALTH"`: whether it has any infinity or NaN; `"CONCISE_HEALTH"`: its size and how
        many elements are -infinity, +infinity and NaN; `"FULL_HEALTH"`: also dtype, rank, and how many are
        negative, zero and positive; `"FULL_NUMERICS"`: also minimum, maximum, mean and variance of the finite
        elements (needs the native library); `"SHAPE"`: dtype and shape; `"FULL_TENSOR"`: the whole value.
        The health modes and `"FULL_NUMERICS"` look at floating and complex tensors (without the native
        library not at complex ones and float8), `"SHAPE"` at floating ones, integers and bool.
      circular_buffer_size: How many of the last executions, and of the last graph executions, are kept. What
        ran around the first infinity and the first NaN of each op is kept as well (but not without the
        native library), at most ten times as much. 0 or below keeps all, and files grow with the program.
      op_regex: Values are recorded only of ops whose type matches this regular expression from its beginning,
        such as `"(Log|Exp)$"`. None (the default) for all. Executions, graphs and sources are recorded
        regardless.
      tensor_dtypes: Values are recorded only of these dtypes: a list such as `["float32", tf.bfloat16]`, or a
        function that takes a `tf.DType` and tells. None (the default) for all.
      logdir: Another name for `dump_root`.
      function_regex: Values are recorded only inside functions in whose name this regular expression is
        found, such as `"^train_step$"`, and inside what is part of them: loops, branches, gradients,
        functions first called there. None (the default) for all, and for eager ops too.
      name_regex: Values are recorded only of graph ops in whose name, scopes included, this regular
        expression is found: `"(^|/)dense_1/"` for a name scope. None (the default) for all, and for eager
        ops too.
      every_n_steps: Only one of so many steps is recorded, the first one to begin with; 1 (the default) for
        every step. What is a step, the program says by calling `step()` at the end of each. Between those
        that are recorded, neither executions nor values of tensors are; graphs and sources always are.
        Needs the native library.
      step_range: The first step to record and the one before which to end, such as `(100, 200)`; None as the
        latter for no end. Steps count from 0. None (the default) for all. Needs the native library.
      max_tensor_bytes: In `"FULL_TENSOR"`, a value of more bytes (the default: 1 MiB; None: no limit) is not
        kept: its record holds what `"FULL_HEALTH"` would of a floating tensor, and `"SHAPE"` of any other,
        and how many bytes were left out. Without the native library there is no limit.
      keep_graph_optimizations: If True, only tensors are watched that survive Grappler, TensorFlow's graph
        optimizer, and it fuses and rewrites what it would without a recording: results have the bits that
        they have in production. Nineteen of twenty tensors are left in our examples; the first call of a
        function takes longer. Nothing is watched inside what XLA compiles, and in TF1-style sessions; the log
        says so when there are any. False (the default): all tensors are watched, and sums that Grappler would
        have reordered may differ in the last place. Needs the native library.

    Returns:
      The recording. Its `FlushNonExecutionFiles()` and `FlushExecutionFiles()` write out what is buffered,
      `Close()` ends it.

    Raises:
      UsageError: An argument cannot be used, or the folder is being recorded with other arguments. It is a
        `ValueError`.
      RecordingError: The folder cannot be written. It is a `RuntimeError`.
    """
    global _current
    root = _one_root(dump_root, logdir)
    options = make_options(
        root,
        tensor_debug_mode,
        circular_buffer_size,
        op_regex=op_regex,
        tensor_dtypes=tensor_dtypes,
        function_regex=function_regex,
        name_regex=name_regex,
        every_n_steps=every_n_steps,
        step_range=step_range,
        max_tensor_bytes=max_tensor_bytes,
        keep_graph_optimizations=keep_graph_optimizations,
    )
    with _current_lock:
        on = running()
        if on is not None:
            if on.dump_root == options.dump_root:
                _check_same(on.asked, options)
                return on
            _log.warning(
                "The recording to %s ends, because one to %s begins: there is one at a time.",
                on.dump_root,
                options.dump_root,
            )
            on.close()
        _current = Recording(options)
        return _current


def running() -> Recording | None:
    """The recording that is on; None when none is."""
    with _current_lock:
        if _current is not None:
            _current.end_if_left()
        return _current if _current is not None and _current.on else None


def _one_root(dump_root: Any, logdir: Any) -> Any:
    if dump_root is not None and logdir is not None:
        raise UsageError("dump_root and logdir are two names of one argument: give one of them.")
    return dump_root if logdir is None else logdir


def _check_same(current: Options, wanted: Options) -> None:
    there = as_given(current)
    for argument, value in as_given(wanted).items():
        if value != there[argument]:
            raise UsageError(
                f"{current.dump_root} is recorded with {argument} {there[argument]!r}: call "
                f"disable_dump_debug_info() before enabling it with {value!r}."
            )


def step() -> None:
    """Tell the recording that a step of the program ends here; does nothing when none is on.

    Use::

        tb_debugger_plugin.enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", every_n_steps=100)
        for batch in data:
            train_step(batch)
            tb_debugger_plugin.step()

    What runs until the first call is step 0; `every_n_steps` and `step_range` of `enable_dump_debug_info`
    choose by the number.
    """
    recording = _current
    if recording is not None and recording.on:
        recording.end_step()


def disable_dump_debug_info() -> None:
    """End the recording and write out all files; does nothing when none is on.

    Functions get back the definitions that the program made, and run at full speed again. Any thread may call
    it, also while others run steps: what they compute after that is not recorded. Called by itself when the
    program ends.
    """
    with _current_lock:
        if _current is not None:
            _current.close()


@atexit.register
def _end_at_exit() -> None:
    with _current_lock:
        if _current is not None:
            _current.close(exiting=True)


def _end_in_child() -> None:
    """A forked child shares the files with its parent, which goes on writing: it must not touch them."""
    global _current_lock
    _current_lock = threading.RLock()
    if _current is not None and _current.on:
        _current.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)


@contextmanager
def record(logdir: str | os.PathLike[str], mode: str = "FULL_HEALTH", **options: Any) -> Iterator[Recording]:
    """Record what the program computes inside a block, all of it, written out on leaving.

    Inside a recording of the same folder the block is part of that one, which goes on afterwards. One of
    another folder ends where the block begins, as with `enable_dump_debug_info`; the log says so.

    Use::

        with tb_debugger_plugin.record("/path/to/logdir"):
            model.fit(...)

    Args:
      logdir: Folder for the event files; see `enable_dump_debug_info`.
      mode: What is recorded of each tensor; see `enable_dump_debug_info`.
      **options: Other arguments of `enable_dump_debug_info`; `circular_buffer_size` is -1 unless given.

    Yields:
      The recording.

    Raises:
      UsageError: An argument cannot be used.
      RecordingError: The folder cannot be written.
    """
    arguments = {"circular_buffer_size": -1, **options}
    with _current_lock:
        before = running()
        recording = enable_dump_debug_info(logdir, mode, **arguments)
    try:
        yield recording
    finally:
        if recording is not before:
            recording.close()
