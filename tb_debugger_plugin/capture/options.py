"""What to record: the user's arguments, checked once, as one value.

In come the arguments of `enable_dump_debug_info`; out comes an `Options`, or a `UsageError` that says what to
do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import tensorflow as tf

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import TensorDebugMode

#: The forms in which a caller may choose dtypes.
DTypeFilter: TypeAlias = "Iterable[tf.DType | str] | Callable[[tf.DType], bool] | None"

SUPPORTED_MODES = (
    TensorDebugMode.NO_TENSOR,
    TensorDebugMode.CURT_HEALTH,
    TensorDebugMode.CONCISE_HEALTH,
    TensorDebugMode.FULL_HEALTH,
    TensorDebugMode.SHAPE,
    TensorDebugMode.FULL_NUMERICS,
    TensorDebugMode.FULL_TENSOR,
)
#: Those that look at the elements of floating and complex tensors.
HEALTH_MODES = (
    TensorDebugMode.CURT_HEALTH,
    TensorDebugMode.CONCISE_HEALTH,
    TensorDebugMode.FULL_HEALTH,
    TensorDebugMode.FULL_NUMERICS,
)
#: Those that count elements.
COUNTING_MODES = HEALTH_MODES[1:]
#: Dtypes with a health: those that TensorFlow's own debug ops measure, and those that only we do.
STOCK_DTYPES = frozenset((tf.float16, tf.bfloat16, tf.float32, tf.float64))
MEASURED_DTYPES = STOCK_DTYPES | {
    *(tf.complex64, tf.complex128),
    *(tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn),
}

_WRAPPED = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")
#: What FULL_TENSOR records whole, unless the user says otherwise: 1 MiB.
MAX_TENSOR_BYTES = 1 << 20


@dataclass(frozen=True)
class Options:
    """What one recording keeps.

    Attributes:
      dump_root: Folder of the event files, absolute when it is local.
      mode: What is recorded of each tensor.
      circular_buffer_size: Above 0, how many executions and how many traces are kept; else all.
      op_regex: Only tensors of ops whose type matches from its beginning; None for all.
      tensor_dtypes: Only tensors of dtypes for which it is true; None for all.
      function_regex: Only tensors of functions, and parts of them, in whose name it is found; None for all.
      name_regex: Only tensors of graph ops in whose name, scopes included, it is found; None for all.
      every_n_steps: Of so many steps, one is recorded.
      step_range: Of which steps: the first, and the one before which it ends or None.
      max_tensor_bytes: How large a value FULL_TENSOR records whole; None for any.
      keep_graph_optimizations: Only tensors that Grappler leaves, so that it does what it does without us.
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
    keep_graph_optimizations: bool = False

    def wants(
        self, op_type: str, dtype: tf.DType, *, op_name: str | None = None, functions: Iterable[str] = ()
    ) -> bool:
        """Whether the value of a tensor is recorded.

        Args:
          op_type: Of the op that makes it.
          dtype: Of the tensor.
          op_name: Name of that op in its graph; None for what Python runs, which has none.
          functions: Names of the functions that the op is part of; or of the function, when that is the op.
        """
        if not covers(self.mode, dtype):
            return False
        if self.op_regex is not None and not self.op_regex.match(op_type):
            return False
        if self.function_regex is not None and not any(map(self._names_chosen_function, functions)):
            return False
        if self.name_regex is not None and (op_name is None or not self.name_regex.search(op_name)):
            return False
        return self.tensor_dtypes is None or self.tensor_dtypes(dtype)

    def _names_chosen_function(self, name: str) -> bool:
        chosen = self.function_regex
        return chosen is not None and any(chosen.search(each) for each in unwrapped(name))

    @property
    def chooses_steps(self) -> bool:
        """Whether some steps are not recorded."""
        return self.every_n_steps > 1 or self.step_range != (0, None)

    def wants_step(self, step: int) -> bool:
        """Whether what runs in a step is recorded.

        Args:
          step: How many steps ended before it.
        """
        first, end = self.step_range
        in_range = step >= first and (end is None or step < end)
        return in_range and (step - first) % self.every_n_steps == 0


def unwrapped(name: str) -> Iterator[str]:
    """The name of a function, and the names inside it, the user's last.

    TensorFlow's name for a function that the user calls f may be __inference___backward_f_12_34.
    """
    while True:
        yield name
        wrapped = _WRAPPED.match(name)
        if wrapped is None:
            return
        name = wrapped.group(1)


def covers(mode: TensorDebugMode, dtype: tf.DType) -> bool:
    """Whether a mode has something to say about tensors of a dtype."""
    if dtype in (tf.resource, tf.variant) or dtype._is_ref_dtype:
        return False
    if mode in HEALTH_MODES:
        return dtype in MEASURED_DTYPES
    if mode is TensorDebugMode.SHAPE:
        return bool(dtype.is_floating or dtype.is_integer or dtype.is_bool)
    return bool(dtype.is_numpy_compatible)


#: Those that TensorFlow has.
_DTYPES = sorted(
    {
        each
        for place in (tf.dtypes, tf.dtypes.experimental)
        for each in vars(place).values()
        if isinstance(each, tf.DType)
    },
    key=lambda dtype: dtype.name,
)


def dtypes_of(options: Options) -> tuple[str, ...]:
    """The names of the dtypes of which tensors are recorded."""
    wanted = options.tensor_dtypes
    covered = [dtype for dtype in _DTYPES if covers(options.mode, dtype)]
    return tuple([dtype.name for dtype in covered if wanted is None or _is_true_of(wanted, dtype)])


def as_given(options: Options) -> dict[str, Any]:
    """The arguments that options were made of, but the folder, in a form that can be compared and shown."""
    patterns = {
        name: pattern and pattern.pattern
        for name, pattern in (
            ("op_regex", options.op_regex),
            ("function_regex", options.function_regex),
            ("name_regex", options.name_regex),
        )
    }
    return {
        "tensor_debug_mode": options.mode.name,
        "circular_buffer_size": options.circular_buffer_size,
        **patterns,
        "tensor_dtypes": options.tensor_dtypes and list(dtypes_of(options)),
        "every_n_steps": options.every_n_steps,
        "step_range": options.step_range,
        "max_tensor_bytes": options.max_tensor_bytes,
        "keep_graph_optimizations": options.keep_graph_optimizations,
    }


def _is_true_of(predicate: Callable[[tf.DType], bool], dtype: tf.DType) -> bool:
    try:
        return bool(predicate(dtype))
    except Exception:  # the user's, made for dtypes of the program; this may be none of them
        return False


def make_options(
    dump_root: str | os.PathLike[str],
    tensor_debug_mode: str,
    circular_buffer_size: int,
    *,
    op_regex: str | None,
    tensor_dtypes: Any,
    function_regex: str | None,
    name_regex: str | None,
    every_n_steps: int,
    step_range: Any,
    max_tensor_bytes: int | None,
    keep_graph_optimizations: bool,
) -> Options:
    """Check the user's arguments.

    Raises:
      UsageError: One of them cannot be used; the text says which and what to do.
    """
    return Options(
        absolute(dump_root),
        _mode(tensor_debug_mode),
        _buffer_size(circular_buffer_size),
        _regex("op_regex", op_regex),
        _dtype_predicate(tensor_dtypes),
        _regex("function_regex", function_regex),
        _regex("name_regex", name_regex),
        _every_n_steps(every_n_steps),
        _step_range(step_range),
        _max_bytes(max_tensor_bytes),
        _flag("keep_graph_optimizations", keep_graph_optimizations),
    )


def absolute(dump_root: str | os.PathLike[str]) -> str:
    """A dump root as recordings know it.

    Args:
      dump_root: As the user gives it.

    Raises:
      UsageError: It is none.
    """
    root = os.fspath(dump_root) if dump_root is not None else ""
    if not isinstance(root, str) or not root:
        raise UsageError("dump_root is empty: give the folder that `tensorboard --logdir` will be told.")
    return root if is_remote(root) else os.path.abspath(root)


def is_remote(dump_root: str) -> bool:
    """Whether a dump root is an address such as `gs://bucket/logs` instead of a local folder."""
    return "://" in dump_root


def _mode(name: str) -> TensorDebugMode:
    valid = ", ".join(mode.name for mode in SUPPORTED_MODES)
    if name not in {mode.name for mode in SUPPORTED_MODES}:
        raise UsageError(f"Invalid tensor_debug_mode {name!r}: choose one of {valid}.")
    return TensorDebugMode[name]


def _buffer_size(size: int) -> int:
    if not _is_whole(size):
        raise UsageError(
            f"circular_buffer_size is {size!r}: give a whole number of records to keep, or -1 to keep all."
        )
    return size


def _is_whole(number: Any, at_least: int | None = None) -> bool:
    is_int = isinstance(number, int) and not isinstance(number, bool)
    return is_int and (at_least is None or number >= at_least)


def _every_n_steps(steps: int) -> int:
    if not _is_whole(steps, 1):
        raise UsageError(f"every_n_steps is {steps!r}: give a whole number from 1 (every step) on.")
    return steps


def _step_range(chosen: Any) -> tuple[int, int | None]:
    if chosen is None:
        return (0, None)
    if isinstance(chosen, (tuple, list)) and len(chosen) == 2:
        first, end = chosen
        if _is_whole(first, 0) and (end is None or _is_whole(end, first + 1)):
            return first, end
    raise UsageError(
        f"step_range is {chosen!r}: give the first step and the one before which it ends, such as "
        "(100, 200), or (100, None) for no end."
    )


def _max_bytes(size: int | None) -> int | None:
    if size is None or _is_whole(size, 0):
        return size
    raise UsageError(f"max_tensor_bytes is {size!r}: give a number of bytes, or None for no limit.")


def _flag(argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{argument} is {value!r}: give True or False.")
    return value


def _regex(argument: str, pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise UsageError(f"{argument} {pattern!r} is not a regular expression: {error}.") from None


def _dtype_predicate(chosen: Any) -> Callable[[tf.DType], bool] | None:
    if chosen is None or callable(chosen):
        return chosen  # type: ignore[no-any-return]
    if not isinstance(chosen, (list, tuple, set, frozenset)):
        raise UsageError(
            "tensor_dtypes is neither a list of dtypes nor a function: give such as "
            f'["float32"] or `lambda dtype: dtype.is_integer`, not {chosen!r}.'
        )
    try:
        dtypes = frozenset(tf.as_dtype(dtype) for dtype in chosen)
    except TypeError as error:
        raise UsageError(f"tensor_dtypes holds something that is no dtype: {error}.") from None
    return dtypes.__contains__
