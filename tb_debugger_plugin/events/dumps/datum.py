"""A dumped tensor, as ``DebugDumpDir`` gives it to predicates, and the answer where there is no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.events.numbers import Array


@dataclass(frozen=True)
class NoTensor:
    """Stands where a datum has no array.

    Attributes:
      reason: Why, in one sentence.
      initialized: False for a variable that had no value yet.
    """

    reason: str
    initialized: bool = True

    def __str__(self) -> str:
        """Return the reason."""
        return self.reason


@dataclass(frozen=True)
class DebugTensorDatum:
    """A tensor at one time, without its value, which :meth:`get_tensor` reads.

    Attributes:
      node_name: Name of the node, with scopes.
      output_slot: Number of the output.
      debug_op: The debug op, such as ``DebugIdentity``. In a recording of this package: ``DebugIdentity`` if
        the value is kept, else the mode of the summary, such as ``FULL_HEALTH``.
      timestamp: Microseconds since 1970.
      device_name: Name of the device; empty if not known.
      extended_timestamp: The time as a text, with a number behind it for the second dump in a microsecond.
      file_path: The file of the dump; None in a recording of this package.
      graph_id: The graph, in a recording of this package; empty in a dump folder.
      index: The position in the list of graph executions; None in a dump folder.
      is_bad: Whether it has NaN or infinities, as far as was measured when it was recorded; else None.
    """

    node_name: str
    output_slot: int
    debug_op: str
    timestamp: int
    device_name: str
    extended_timestamp: str = ""
    file_path: str | None = None
    graph_id: str = ""
    index: int | None = None
    is_bad: bool | None = None
    _read: Callable[..., Array | NoTensor | None] = field(default=lambda _: None, repr=False, compare=False)

    @property
    def dump_size_bytes(self) -> int | None:
        """The size of the file; None in a recording of this package, and if the file is gone."""
        if self.file_path is None:
            return None
        try:
            return int(location(self.file_path).stat().st_size)
        except OSError:
            return None

    @property
    def tensor_name(self) -> str:
        """The tensor, such as ``Log:0``."""
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """The tensor and the debug op, such as ``Log:0:DebugIdentity``."""
        return f"{self.tensor_name}:{self.debug_op}"

    def get_tensor(self) -> Array | NoTensor | None:
        """Return the value.

        Returns:
          A NumPy array (objects of ``bytes`` for strings, dtypes of ``ml_dtypes`` for bfloat16 and float8);
          or a :class:`NoTensor` for a variable that was not initialised, a dtype without elements, and a
          value that was not kept.

        Raises:
          FormatError: The file is damaged or cut off.
          OSError: The file cannot be read.
        """
        return self._read(self)

    def __str__(self) -> str:
        """Return device, watch key and time."""
        key = f"{self.tensor_name} @ {self.debug_op} @ {self.timestamp}"
        return f"{{DebugTensorDatum ({self.device_name}) {key}}}"


#: Says of a datum and its value, an array or a :class:`NoTensor`, whether it passes.
Predicate: TypeAlias = Callable[[DebugTensorDatum, Any], bool]


def has_inf_or_nan(datum: DebugTensorDatum, tensor: object) -> bool:
    """Whether a tensor has NaN or infinities; a predicate for :meth:`DebugDumpDir.find`.

    Args:
      datum: The datum.
      tensor: Its value. Without one, what was measured when it was recorded decides.
    """
    if isinstance(tensor, NoTensor) or tensor is None:
        return bool(datum.is_bad)
    values = np.asarray(tensor)
    if values.dtype.names is not None:  # a structured array has a field for each of several numbers
        return any(has_inf_or_nan(datum, values[name]) for name in values.dtype.names)
    if values.dtype.kind == "V" and values.dtype.subdtype is None and values.dtype.type is not np.void:
        values = values.astype(np.float32)
    if values.dtype.kind not in "fc":
        return False
    return bool(np.any(~np.isfinite(values)))
