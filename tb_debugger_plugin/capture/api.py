"""The functions that users call to begin and end a recording.

Invariants: a process has at most one recording at a time. This module handles every way in which a program
begins or ends one, or ends itself.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeAlias

from tb_debugger_plugin.capture.alarm import BadValue as BadValue
from tb_debugger_plugin.capture.keep_values import MAX_TENSOR_BYTES, KeepArgument
from tb_debugger_plugin.capture.keep_values import KeepValues as KeepValues
from tb_debugger_plugin.capture.on_alert import OnAlertArgument, make_on_alert
from tb_debugger_plugin.capture.options import (
    DTypeFilter,
    KeepReplay,
    MaxBytes,
    Options,
    as_given,
    make_options,
)
from tb_debugger_plugin.capture.own_recording import check_rules
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.errors import UsageError

#: The last recording; it may have ended.
_current: Recording | None = None
#: Whether this process was forked from one that had imported this module.
_is_forked = False
current_lock = threading.RLock()  # guards _current; held while a recording begins or ends
#: Whether a debugger may stop the program at tensors of graphs in a recording that begins now.
_interactive = ContextVar("tb_debugger_interactive", default=False)
#: The folder of a recording as the user gives it; None when it is not given.
_Root: TypeAlias = "str | os.PathLike[str] | None"
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
    max_bytes: MaxBytes = "auto",
    keep_graph_optimizations: bool = False,
    keep_values: KeepArgument = None,
    on_alert: OnAlertArgument = None,
    alert_kinds: Iterable[str] | None = None,
    ignore_alerts: Iterable[str] | str = (),
    alert_rules: Iterable[str] | str | None = None,
    rules_file: str | os.PathLike[str] | None = None,
    max_held_bytes: int | None = None,
    keep_replay: KeepReplay = None,
) -> Recording:
    """Record what the program computes from now on, for the debugger's page in TensorBoard.

    A drop-in for `tf.debugging.experimental.enable_dump_debug_info`. Call it once, at any time; functions
    that were traced before are recorded too (but not input pipelines that were made before: the log names
    their functions)::

        tb_debugger_plugin.enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", circular_buffer_size=-1)

    A process has one recording, which sees all threads; TensorFlow's own function records the thread that
    calls it. Files are flushed when the program ends. While a recording is on, a second call for the same
    folder with the same arguments returns it. With other arguments the call raises, because the watched
    tensors were chosen when the recording began. A call for another folder ends the recording and begins
    another one, with a line in the log. A folder with older recordings gets further files.

    Args:
      dump_root: Folder for the event files, created if it does not exist: the logdir of TensorBoard, or a
        folder anywhere below it.
      tensor_debug_mode: What to record of each tensor. `"NO_TENSOR"` (the default): only that it was
        computed; `"CURT_HEALTH"`: whether it has any infinity or NaN; `"CONCISE_HEALTH"`: its size and the
        numbers of -infinity, +infinity and NaN elements; `"FULL_HEALTH"`: also dtype, rank, and the numbers
        of negative, zero and positive elements; `"FULL_NUMERICS"`: also minimum, maximum, mean and variance
        of the finite elements (needs the native library); `"EXPONENTS"`: also how many elements have a
        magnitude in which range of powers of two (needs the native library); `"SHAPE"`: dtype and shape;
        `"FULL_TENSOR"`: the whole value. The health modes, `"FULL_NUMERICS"` and `"EXPONENTS"` cover floating
        and complex tensors (without the native library no complex and no float8 tensors), `"SHAPE"` covers
        floating, integer and bool tensors. `"GUARD"`, meant to stay on, records no tensor while all is
        finite, and runs a call of a function that leaves an infinity or NaN once more, to record it as
        `"FULL_NUMERICS"` does, after the numbers that variables and results had in a few calls before. It
        keeps all such records, up to `max_bytes` (needs the native library).
      circular_buffer_size: Number of the last executions, and of the last graph executions, to keep. With the
        native library, records around the first infinity and the first NaN of each op are kept as well, at
        most ten times as many, and four times as many for each doubling of the recording. 0 or below
        keeps everything, up to `max_bytes`.
      op_regex: Record values only of ops whose type matches this regular expression from its beginning, such
        as `"(Log|Exp)$"`. None (the default): all ops. Executions, graphs and sources are always recorded.
      tensor_dtypes: Record values only of these dtypes: a list such as `["float32", tf.bfloat16]`, or a
        function that takes a `tf.DType` and returns a bool. None (the default): all dtypes.
      logdir: Another name for `dump_root`.
      function_regex: Record values only inside functions whose name contains a match of this regular
        expression, such as `"^train_step$"`, and inside their parts: loops, branches, gradients, functions
        that are first called there. None (the default): all functions, and eager ops too.
      name_regex: Record values only of graph ops whose name, with scopes, contains a match of this regular
        expression, such as `"(^|/)dense_1/"` for a name scope. None (the default): all ops, and eager ops
        too.
      every_n_steps: Record one of this many steps, beginning with the first one; 1 (the default) records
        every step. The program marks the end of each step by calling `step()`. In the other steps, executions
        and values of tensors are not recorded; graphs and sources always are. Needs the native library.
      step_range: The first step to record, and the step before which to end, such as `(100, 200)`; None
        instead of the second for no end. Steps count from 0. None (the default): all steps. Needs the native
        library.
      max_tensor_bytes: In `"FULL_TENSOR"`, the largest value to keep, in bytes (the default: 1 MiB; None: no
        limit). The record of a larger value holds what `"FULL_HEALTH"` records of a floating tensor, and
        `"SHAPE"` of any other tensor, and the number of bytes that were left out. Without the native library
        there is no limit.
      max_bytes: About how large the files of this process may become, in bytes. Three quarters of it hold
        everything; from there on, the recording goes on as a circular buffer: what is written stays, and the
        first bad tensors and the end are added. The log, the page and `tbdbg info` say so. `"auto"` (the
        default): a tenth of the free disk, at most 10 GB. None: no limit. At least 4 MiB. Graphs and sources
        do not count. Without the native library, or in a remote folder, there is no limit.
      keep_graph_optimizations: If True, only tensors that survive Grappler, TensorFlow's graph optimizer, are
        watched, and Grappler fuses and rewrites as it does without a recording: results have the same bits as
        in production. In our examples, nineteen of twenty tensors are left; the first call of a function
        takes longer. Nothing is watched in functions that XLA compiles and in TF1-style sessions; the log
        says so when the program has any. If False (the default), all tensors are watched, and sums that
        Grappler would have reordered may differ in the last place. Needs the native library.
      keep_values: Values to record whole, beside what the mode records of every tensor: a `KeepValues`, which
        chooses them by op type, name, layer or function, or only when they are bad, and limits their sizes; a
        list of them, of which any may hold; or a string, a regular expression for the names of graph ops,
        such as `"^dense/MatMul$"`. None (the default): no values beside what the mode records. What the
        filters leave out is not recorded. Of functions that XLA compiles, arguments, results and constants
        can be kept. Without the native library, `only_bad` keeps nothing and `max_total_bytes` has no effect.
      on_alert: What follows when a tensor with an infinity or NaN is recorded. `"raise"`: the op, or the call
        of a function, raises a `NumericsError` that explains the value, and what is computed from the value
        does not run; a function that XLA compiled raises after its call. `"stop"`: the recording ends right
        after the call, so the culprit is the last on record, and the program goes on unrecorded; with
        `DebuggerCallback`, the training ends too. A function: it is called with a `BadValue` after the call,
        once for all bad values of a call, and what it raises reaches the program. None (the default):
        nothing. Needs the native library and a mode that looks at elements. Steps that are not recorded, and
        what filters leave out, are not checked.
      alert_kinds: The bad values that count: some of `"nan"` and `"inf"`. `("inf",)` is for tensors without
        NaN. None (the default): both, but only `"nan"` as soon as a constant of the program is infinite, such
        as a mask. `"CURT_HEALTH"` does not distinguish them: all count as `"nan"`. `"InfNanAlert"`, the rule,
        is the same as None. `()`, with `alert_rules`: none.
      ignore_alerts: Regular expressions of ops whose bad values are meant: types, of which the whole must
        match, such as `"Log|Xlogy"`, or names of graph ops, which must contain a match, such as
        `"(^|/)mask/"`. The default: none.
      alert_rules: Alert rules on which `on_alert` acts, too: `"recommended"`, `"all"`, or rules of
        `docs/guide/rules.md`, with thresholds after a colon, such as `["LargeGradientAlert:limit=10",
        "GrowingAlert"]`. A thread asks them of the files every few seconds, and what follows happens before
        the next op, call or run of a session that Python makes, and once more when the recording ends. So the
        program is some steps further by then. The function gets a `BrokenRule`. Each tensor, eager op and
        line, or function that breaks a rule acts once. None (the default): no rules. Needs a recording
        without a circular buffer (`circular_buffer_size=-1`), and a mode that measures what the rule needs,
        often `"FULL_NUMERICS"`.
      rules_file: A file with more rules for `alert_rules`, in TOML or in Python, whose code is run. None (the
        default): only `tbdbg_rules.toml` in the folder.
      max_held_bytes: In `"GUARD"`, the most bytes that a call of a function, or all calls that are kept
        together, may hold so that they can run once more: the old values of the variables that they change,
        their arguments, and the results of ops that cannot run twice. A call that needs more is checked and
        not recorded. None (the default): a tenth of the free memory.
      keep_replay: In `"GUARD"`, whether each call that is recorded is also kept as a bundle, a file that
        `tbdbg replay` runs again without the program: its function, its arguments, the values of its
        variables. A number is the most bytes of all bundles of the recording, which do not count towards
        `max_bytes`; beyond it, the largest values are left out, and the log says so. None (the default) and
        True: 256 MB. False: none.

    Returns:
      The recording. Its `FlushNonExecutionFiles()` and `FlushExecutionFiles()` write buffered records to the
      files, `Close()` ends it.

    Raises:
      UsageError: An argument cannot be used, or a recording to the folder with other arguments is on. It is a
        `ValueError`.
      RecordingError: The folder cannot be written. It is a `RuntimeError`.
    """
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
        max_bytes=max_bytes,
        keep_graph_optimizations=keep_graph_optimizations,
        keep_values=keep_values,
        on_alert=make_on_alert(on_alert, alert_kinds, ignore_alerts, alert_rules, rules_file),
        max_held_bytes=max_held_bytes,
        keep_replay=keep_replay,
    )
    check_rules(options)
    return begin(options)


def begin(options: Options) -> Recording:
    """Begin a recording, or return the one that is on: see `enable_dump_debug_info`."""
    global _current
    with current_lock:
        on = running()
        if on is not None:
            if on.dump_root == options.dump_root:
                _check_same(on.requested, options)
                return on
            _log.warning(
                "The recording to %s ends, because a recording to %s begins. There is one recording at a "
                "time.",
                on.dump_root,
                options.dump_root,
            )
            on.close()
        if _interactive.get() and options.is_guard:
            raise UsageError(
                "Debuggers cannot stop a program that is recorded in GUARD, which watches no tensors: give "
                "another tensor_debug_mode such as 'FULL_HEALTH'."
            )
        _current = Recording(replace(options, is_interactive=True) if _interactive.get() else options)
        if _is_forked:
            # From Python 3.13 on, `multiprocessing` clears what was registered before it forked.
            atexit.unregister(_end_at_exit)
            atexit.register(_end_at_exit)
        return _current


@contextmanager
def interactive() -> Iterator[None]:
    """Let debuggers stop the program at tensors of graphs, in a recording that begins inside the block."""
    token = _interactive.set(True)
    try:
        yield
    finally:
        _interactive.reset(token)


def running() -> Recording | None:
    """Return the recording that is on; None when none is."""
    with current_lock:
        if _current is not None:
            _current.end_if_call_ended()
        return _current if _current is not None and _current.on else None


def _one_root(dump_root: _Root, logdir: _Root) -> _Root:
    if dump_root is not None and logdir is not None:
        raise UsageError("dump_root and logdir are two names of the same argument: give only one of them.")
    return dump_root if logdir is None else logdir


def _check_same(current: Options, requested: Options) -> None:
    current_arguments = as_given(current)
    for argument, value in as_given(requested).items():
        if value != current_arguments[argument]:
            raise UsageError(
                f"{current.dump_root} is recorded with {argument} {current_arguments[argument]!r}: call "
                f"disable_dump_debug_info() before enabling it with {value!r}."
            )


def step() -> None:
    """Mark the end of a step of the program; does nothing when no recording is on.

    Use::

        tb_debugger_plugin.enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", every_n_steps=100)
        for batch in data:
            train_step(batch)
            tb_debugger_plugin.step()

    Step 0 lasts until the first call. `every_n_steps` and `step_range` of `enable_dump_debug_info` choose
    steps by number.
    """
    recording = _current
    if recording is not None and recording.on:
        recording.end_step()


def disable_dump_debug_info() -> None:
    """End the recording and write out all files; does nothing when no recording is on.

    Functions get the program's definitions again and run at full speed. Any thread may call it, also while
    others run steps: what they compute afterwards is not recorded. It is called automatically when the
    program ends.
    """
    with current_lock:
        if _current is not None:
            _current.finish()


@atexit.register
def _end_at_exit() -> None:
    with current_lock:
        if _current is not None:
            _current.finish(exiting=True)


def _end_in_child() -> None:
    """Drop the recording in a forked child: it shares the files with its parent, which goes on writing."""
    global current_lock, _is_forked
    current_lock, _is_forked = threading.RLock(), True
    if _current is not None and _current.on:
        _current.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)
