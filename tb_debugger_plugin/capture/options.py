"""Checks the user's arguments and keeps them as one value.

Takes the arguments of `enable_dump_debug_info` and returns an `Options`, or raises a `UsageError` that says
what to do.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture.keep_values import (
    MAX_TENSOR_BYTES,
    KeepArgument,
    KeepValues,
    TensorFacts,
    compiled,
    make_rules,
    number_of_bytes,
)
from tb_debugger_plugin.capture.on_alert import OnAlert
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import MODES, TensorDebugMode, spec_of
from tb_debugger_plugin.events.tensorflow_names import unwrapped

#: The forms in which a caller may choose dtypes.
DTypeFilter: TypeAlias = "Iterable[tf.DType | str] | Callable[[tf.DType], bool] | None"

#: The largest size of the event files: bytes, None for no limit, or the default.
MaxBytes: TypeAlias = 'int | Literal["auto"] | None'
#: Whether bad calls are kept as bundles, or the most bytes of them; None for the default.
KeepReplay: TypeAlias = "bool | int | None"
#: The mode that records only the calls that go bad, and then measures all of each tensor: it is rare.
GUARD: Final = "GUARD"
#: The modes that a user may choose, and what each records of a tensor.
MODE_NAMES: Final = {
    **{spec.mode.name: spec.mode for spec in MODES if spec.is_recorded},
    GUARD: TensorDebugMode.FULL_NUMERICS,
}
#: The smallest limit: the journals of the event files need some of it.
LEAST_BYTES = 4 << 20
_MOST_BYTES = 10_000_000_000
#: The most bytes of all bundles of a recording.
_BUNDLE_BYTES = 256_000_000

#: Dtypes with a health. TensorFlow's own debug ops only measure the first group.
STOCK_DTYPES = frozenset((tf.float16, tf.bfloat16, tf.float32, tf.float64))
MEASURED_DTYPES = STOCK_DTYPES | {
    *(tf.complex64, tf.complex128),
    *(tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn),
}


class Choice(NamedTuple):
    """How the value of a tensor is recorded.

    Attributes:
      is_recorded: Whether it is.
      keep: The rules of `Options.keep_values` by which it may be kept whole, as bits.
    """

    is_recorded: bool
    keep: int = 0

    def bits(self, rings: int = 0) -> int:
        """All in a number, 0 if the value is not recorded: bit 0, two bits, and the rules from bit 3 on.

        Args:
          rings: Which outputs of an eager op may ring the alarm: 1 the first, 2 the others, 3 all.
        """
        return self.is_recorded and 1 | rings << 1 | self.keep << 3


def keep_of(bits: int) -> int:
    """Return the rules in the number of `Choice.bits`."""
    return bits >> 3


@dataclass(frozen=True)
class Options:
    """What one recording keeps.

    Attributes:
      dump_root: Folder of the event files, absolute when it is local.
      mode: What is recorded of each tensor.
      circular_buffer_size: If above 0, the number of executions and the number of traces to keep; else all.
      op_regex: Record only tensors of ops whose type matches from its beginning; None for all.
      tensor_dtypes: Record only tensors of dtypes for which it is true; None for all.
      function_regex: Record only tensors of functions, and their parts, whose name contains a match; None for
        all.
      name_regex: Record only tensors of graph ops whose name, with scopes, contains a match; None for all.
      every_n_steps: Record one of this many steps.
      step_range: The first step to record, and the step before which to end or None.
      max_tensor_bytes: Size of the largest value that FULL_TENSOR records whole; None for no limit.
      max_bytes: Size of the event files from which on they are circular buffers; None for no limit, "auto"
        for the default.
      keep_graph_optimizations: Watch only survivors, so that Grappler does the same as without a recording.
      keep_values: Rules by which values are kept whole, beside what the mode records; any of them may hold.
      on_alert: What follows an alert; None for nothing.
      is_temporary: Whether the folder is deleted when the recording ends.
      only_kept: Whether only the values that a rule keeps are watched, also those of Identity ops.
      is_interactive: Whether a debugger may stop the program at tensors of graphs.
      is_guard: Whether only calls that go bad are recorded, by running them again.
      max_held_bytes: In GUARD, the most that a call may hold for that; None for the default.
      keep_replay: In GUARD, the most bytes of all bundles; 0 for none.
    """

    dump_root: str
    mode: TensorDebugMode
    circular_buffer_size: int
    op_regex: re.Pattern[str] | None = None
    tensor_dtypes: Callable[[tf.DType], bool] | None = None
    function_regex: re.Pattern[str] | None = None
    name_regex: re.Pattern[str] | None = None
    every_n_steps: int = 1
    step_range: tuple[int, int | None] = (0, None)
    max_tensor_bytes: int | None = MAX_TENSOR_BYTES
    max_bytes: MaxBytes = "auto"
    keep_graph_optimizations: bool = False
    keep_values: tuple[KeepValues, ...] = ()
    on_alert: OnAlert | None = None
    is_temporary: bool = False
    only_kept: bool = False
    is_interactive: bool = False
    is_guard: bool = False
    max_held_bytes: int | None = None
    keep_replay: int = 0

    @property
    def mode_name(self) -> str:
        """The name of the mode as the user gives it."""
        return GUARD if self.is_guard else self.mode.name

    def byte_limit(self) -> int:
        """Return the size of the event files from which on they are circular buffers; 0 for no limit.

        The default is a tenth of what is free on the disk of the folder, at most 10 GB.
        """
        if self.max_bytes != "auto":
            return self.max_bytes or 0
        try:
            free = shutil.disk_usage(self.dump_root).free
        except OSError:
            return _MOST_BYTES
        return max(LEAST_BYTES, min(free // 10, _MOST_BYTES))

    def choose(self, tensor: TensorFacts) -> Choice:
        """How the value of a tensor is recorded.

        Args:
          tensor: What is known of it.
        """
        is_covered = covers(self.mode, tensor.dtype) and not self.only_kept
        keep = 0
        if self.keep_values and covers(TensorDebugMode.FULL_TENSOR, tensor.dtype):
            for number, rule in enumerate(self.keep_values):
                can_hold = tensor.dtype in MEASURED_DTYPES or not rule.only_bad
                keep |= (can_hold and rule.chooses(tensor)) << number
        if (is_covered or keep) and self._passes(tensor):
            return Choice(True, keep)
        return Choice(False)

    def rings(self, op_type: str, slot: int | None = None, op_name: str | None = None) -> int:
        """Which outputs of an op may ring the alarm: see `Choice.bits`; for one slot, 1 if it may.

        Args:
          op_type: Type of the op, or name of a function.
          slot: Number of the output; None for all outputs of an eager op.
          op_name: Name of the op in its graph; None for an eager op.
        """
        if self.on_alert is None:
            return 0
        if slot is not None:
            return int(self.on_alert.may_ring(op_type, slot, op_name))
        first, others = (self.on_alert.may_ring(op_type, number, op_name) for number in (0, 1))
        return first | others << 1

    def _passes(self, tensor: TensorFacts) -> bool:
        """Whether the filters let a tensor through."""
        if self.op_regex is not None and not self.op_regex.match(tensor.op_type):
            return False
        if self.function_regex is not None and not any(map(self._is_chosen_function, tensor.functions)):
            return False
        name = tensor.op_name
        if self.name_regex is not None and (name is None or not self.name_regex.search(name)):
            return False
        return self.tensor_dtypes is None or self.tensor_dtypes(tensor.dtype)

    def _is_chosen_function(self, name: str) -> bool:
        regex = self.function_regex
        return regex is not None and any(regex.search(inner) for inner in unwrapped(name))

    @property
    def chooses_steps(self) -> bool:
        """Whether some steps are not recorded."""
        return self.every_n_steps > 1 or self.step_range != (0, None)

    def records_step(self, step: int) -> bool:
        """Whether a step is recorded.

        Args:
          step: Number of the step, from 0.
        """
        first, end = self.step_range
        in_range = step >= first and (end is None or step < end)
        return in_range and (step - first) % self.every_n_steps == 0


def covers(mode: TensorDebugMode, dtype: tf.DType) -> bool:
    """Whether a mode records tensors of a dtype."""
    if dtype in (tf.resource, tf.variant) or dtype._is_ref_dtype:
        return False
    if spec_of(mode).reads_elements:
        return dtype in MEASURED_DTYPES
    if mode is TensorDebugMode.SHAPE:
        return bool(dtype.is_floating or dtype.is_integer or dtype.is_bool)
    return bool(dtype.is_numpy_compatible)


#: All dtypes of TensorFlow.
_DTYPES = sorted(
    {
        value
        for module in (tf.dtypes, tf.dtypes.experimental)
        for value in vars(module).values()
        if isinstance(value, tf.DType)
    },
    key=lambda dtype: dtype.name,
)


def dtypes_of(options: Options) -> tuple[str, ...]:
    """Return the names of the dtypes that are recorded."""
    predicate = options.tensor_dtypes
    covered = [dtype for dtype in _DTYPES if covers(options.mode, dtype)]
    return tuple([dtype.name for dtype in covered if predicate is None or _is_true_of(predicate, dtype)])


#: The arguments that are attributes of `Options` by the same name, and equal if those are.
_GIVEN_AS_THEY_ARE = (
    *("circular_buffer_size", "op_regex", "function_regex", "name_regex", "every_n_steps", "step_range"),
    *("max_tensor_bytes", "max_bytes", "keep_graph_optimizations", "max_held_bytes", "keep_replay"),
)


def as_given(options: Options) -> dict[str, object]:
    """Return the arguments of some options, without the folder, in a form that can be compared and shown."""
    given = {name: getattr(options, name) for name in _GIVEN_AS_THEY_ARE}
    patterns = {name: value and value.pattern for name, value in given.items() if name.endswith("_regex")}
    on_alert = options.on_alert
    return {
        "tensor_debug_mode": options.mode_name,
        **given,
        **patterns,
        "tensor_dtypes": options.tensor_dtypes and list(dtypes_of(options)),
        "keep_values": list(options.keep_values),
        "on_alert": on_alert and (on_alert.function or on_alert.action.value),
        "alert_kinds": on_alert and on_alert.kinds and list(on_alert.kinds),
        "ignore_alerts": list(on_alert.ignore) if on_alert else [],
        "alert_rules": list(on_alert.rules) if on_alert else [],
        "rules_file": on_alert and on_alert.rules_file,
    }


def _is_true_of(predicate: Callable[[tf.DType], bool], dtype: tf.DType) -> bool:
    try:
        return bool(predicate(dtype))
    except Exception:  # the user's predicate may only handle the dtypes of the program
        return False


def make_options(
    dump_root: str | os.PathLike[str] | None,
    tensor_debug_mode: str,
    circular_buffer_size: int,
    *,
    op_regex: str | None = None,
    tensor_dtypes: DTypeFilter = None,
    function_regex: str | None = None,
    name_regex: str | None = None,
    every_n_steps: int = 1,
    step_range: tuple[int, int | None] | None = None,
    max_tensor_bytes: int | None = MAX_TENSOR_BYTES,
    max_bytes: MaxBytes = "auto",
    keep_graph_optimizations: bool = False,
    keep_values: KeepArgument = None,
    on_alert: OnAlert | None = None,
    is_temporary: bool = False,
    max_held_bytes: int | None = None,
    keep_replay: KeepReplay = None,
) -> Options:
    """Check the user's arguments.

    Raises:
      UsageError: An argument cannot be used; the message says which and what to do.
    """
    mode = _mode(tensor_debug_mode)
    options = Options(
        absolute(dump_root),
        mode,
        _buffer_size(circular_buffer_size),
        compiled("op_regex", op_regex),
        _dtype_predicate(tensor_dtypes),
        compiled("function_regex", function_regex),
        compiled("name_regex", name_regex),
        _every_n_steps(every_n_steps),
        _step_range(step_range),
        number_of_bytes("max_tensor_bytes", max_tensor_bytes),
        _max_bytes(max_bytes),
        _flag("keep_graph_optimizations", keep_graph_optimizations),
        _rules(mode, keep_values),
        _checked(mode, circular_buffer_size, on_alert),
        is_temporary,
        max_held_bytes=number_of_bytes("max_held_bytes", max_held_bytes),
    )
    if tensor_debug_mode == GUARD:
        return _guarding(replace(options, keep_replay=_keep_replay(keep_replay)))
    if keep_replay:
        raise UsageError(
            "keep_replay keeps the calls that GUARD runs again: leave it out, or give "
            "tensor_debug_mode='GUARD'."
        )
    if max_held_bytes is not None:
        raise UsageError(
            "max_held_bytes is for a recording in GUARD, or with breakpoints: leave it out, or give "
            "tensor_debug_mode='GUARD'."
        )
    return options


def _keep_replay(keep_replay: KeepReplay) -> int:
    """Return the most bytes of all bundles."""
    if keep_replay is None or keep_replay is True:
        return _BUNDLE_BYTES
    return 0 if keep_replay is False else number_of_bytes("keep_replay", keep_replay) or 0


def _guarding(options: Options) -> Options:
    """Return options that are those of GUARD."""
    unsupported = (
        ("every_n_steps or step_range", options.chooses_steps),
        ("keep_graph_optimizations", options.keep_graph_optimizations),
        ("alert_rules", options.on_alert is not None and bool(options.on_alert.rules)),
    )
    for argument, is_given in unsupported:
        if is_given:
            raise UsageError(
                f"GUARD checks all calls and records those that go bad, so it takes no {argument}: leave it "
                "out, or give another tensor_debug_mode such as 'FULL_HEALTH'."
            )
    # A call that is replayed has thousands of records, and there are few such calls.
    return replace(options, is_guard=True, circular_buffer_size=-1)


def absolute(dump_root: str | os.PathLike[str] | None) -> str:
    """Return a dump root as an absolute path, or unchanged when it is remote.

    Args:
      dump_root: The user's argument.

    Raises:
      UsageError: It is empty or no path.
    """
    root = os.fspath(dump_root) if dump_root is not None else ""
    if not isinstance(root, str) or not root:
        raise UsageError(
            "dump_root is empty: give the folder that TensorBoard will read (`tensorboard --logdir`)."
        )
    return root if is_remote(root) else os.path.abspath(root)


def is_remote(dump_root: str) -> bool:
    """Whether a dump root is a URL such as `gs://bucket/logs` instead of a local folder."""
    return "://" in dump_root


def _mode(name: str) -> TensorDebugMode:
    if name not in MODE_NAMES:
        raise UsageError(f"Invalid tensor_debug_mode {name!r}: choose one of {', '.join(MODE_NAMES)}.")
    return MODE_NAMES[name]


def _buffer_size(size: int) -> int:
    if not _is_whole(size):
        raise UsageError(
            f"circular_buffer_size is {size!r}: give a whole number of records to keep, or -1 to keep all."
        )
    return size


def _is_whole(number: object, at_least: int | None = None) -> bool:
    if not isinstance(number, int) or isinstance(number, bool):
        return False
    return at_least is None or number >= at_least


def _max_bytes(size: MaxBytes) -> MaxBytes:
    if size is None or size == "auto" or _is_whole(size, LEAST_BYTES):
        return size
    raise UsageError(
        f"max_bytes is {size!r}: give a number of bytes from {LEAST_BYTES:,} on, None to keep everything, or "
        '"auto" for a tenth of the free disk, at most 10 GB.'
    )


def _every_n_steps(steps: int) -> int:
    if not _is_whole(steps, 1):
        raise UsageError(f"every_n_steps is {steps!r}: give a whole number from 1 (every step) on.")
    return steps


def _step_range(chosen: object) -> tuple[int, int | None]:
    if chosen is None:
        return (0, None)
    if isinstance(chosen, (tuple, list)) and len(chosen) == 2:
        first, end = chosen
        if _is_whole(first, 0) and (end is None or _is_whole(end, first + 1)):
            return first, end
    raise UsageError(
        f"step_range is {chosen!r}: give the first step and the step before which to end, such as "
        "(100, 200), or (100, None) for no end."
    )


def _rules(mode: TensorDebugMode, chosen: KeepArgument) -> tuple[KeepValues, ...]:
    rules = make_rules(chosen)
    if rules and mode is TensorDebugMode.FULL_TENSOR:
        raise UsageError(
            "keep_values chooses the values that are kept beside summaries, and tensor_debug_mode "
            "'FULL_TENSOR' keeps all values: leave keep_values out, or give another mode such as "
            "'FULL_HEALTH'."
        )
    return rules


def _checked(mode: TensorDebugMode, buffer_size: int, on_alert: OnAlert | None) -> OnAlert | None:
    if on_alert is not None and on_alert.rules and buffer_size > 0:
        raise UsageError(
            f"alert_rules are about the history of tensors, and circular_buffer_size is {buffer_size}, which "
            "keeps its end only: give circular_buffer_size=-1."
        )
    if on_alert is not None and on_alert.judges_values and not spec_of(mode).judges:
        raise UsageError(
            f"on_alert needs a mode that looks at elements, and tensor_debug_mode is {mode.name!r}: give "
            "'FULL_HEALTH', for example, or alert_kinds=() if only alert_rules count."
        )
    return on_alert


def _flag(argument: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{argument} is {value!r}: give True or False.")
    return value


def _dtype_predicate(chosen: object) -> Callable[[tf.DType], bool] | None:
    if chosen is None:
        return None
    if callable(chosen):
        predicate: Callable[[tf.DType], bool] = chosen
        return predicate
    if not isinstance(chosen, (list, tuple, set, frozenset)):
        raise UsageError(
            f"tensor_dtypes is {chosen!r}: give a list of dtypes such as "
            '["float32"], or a function such as `lambda dtype: dtype.is_integer`.'
        )
    try:
        dtypes = frozenset(tf.as_dtype(dtype) for dtype in chosen)
    except TypeError as error:
        raise UsageError(f"tensor_dtypes has an element that is no dtype: {error}.") from None
    return dtypes.__contains__
