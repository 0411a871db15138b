"""A recorded tensor as an object that is sliced like a NumPy array."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.npy import npy_size_and_parts
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue
from tb_debugger_plugin.analysis.values.slicing import Slicing, parse, slicing_of
from tb_debugger_plugin.analysis.values.statistics import statistics
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.stored_tensor import StoredElements

T = TypeVar("T")


class Value:
    """A tensor at one time. Indexing reads the selected elements, and nothing else, from the event file.

    Use::

        value = run.value("Log:0")
        value.shape, value.dtype
        value[0, ::2]
        np.isnan(value).sum()

    Get it from :meth:`Run.value <tb_debugger_plugin.reading.run.Run.value>`, or from ``value()`` of a row.

    Attributes:
      name: The op and the slot, such as ``"Log:0"``.
      index: The position of its row in the list of executions or of graph executions.
      wall_time: When it was computed, in seconds since the epoch.
      is_kept: Whether the recording holds its elements.
      reason: Why it does not, in one sentence; None if it does.
      summary: What was measured: a dict with ``size``, ``nan``, ``neg_inf``, ``pos_inf``, ``negative``,
        ``zero``, ``positive``, ``min``, ``max``, ``mean``, ``variance``, ``bad`` and more; None for what was
        not measured.
      bad_element: The indices of its first NaN or infinity, of the first such values of each output of an op;
        None if they are not known. See ``docs/guide/origins.md``.
    """

    def __init__(self, recorded: RecordedValue) -> None:
        facts = recorded.to_json()
        self._recorded = recorded
        self._dtype: str | None = facts["dtype"]
        self._shape: list[int] | None = facts["shape"]
        self.name: str = facts["name"]
        self.index = recorded.index
        self.wall_time = recorded.wall_time
        self.is_kept: bool = facts["is_kept"]
        self.reason: str | None = facts["reason"]
        self.summary: Json | None = facts["health"]
        found = recorded.bad_element
        self.bad_element = None if found is None or found.index is None else tuple(found.index)

    def __repr__(self) -> str:
        """Return name, dtype and shape."""
        kept = "" if self.is_kept else ", not kept"
        return f"<Value {self.name} {self._dtype} {self._shape}{kept}>"

    @property
    def dtype(self) -> str | None:
        """The name of TensorFlow's dtype, such as ``"bfloat16"``; None if it is not known."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape; None if it is not known."""
        return None if self._shape is None else tuple(self._shape)

    def __getitem__(self, indices: object) -> Array:
        """Return a slice.

        Use::

            value[0, :, ::2]
            value[..., -1]

        Args:
          indices: Integers, slices and at most one ellipsis, as for a NumPy array.

        Returns:
          An array of the tensor's dtype: NumPy's own, or one of ``ml_dtypes`` for bfloat16 and float8.
          Strings are bytes in an array of objects. One element is an array without dimensions.

        Raises:
          BadQueryError: NumPy would refuse the slice, too. It is a ``ValueError``.
          NotFoundError: The elements are not kept, are cut off or are damaged. It is a ``LookupError``.
        """
        return self._with(indices, read_slice)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Return all elements, so that NumPy's functions take the value."""
        array = self[...]
        return array if dtype is None else array.astype(dtype)

    def __len__(self) -> int:
        """Return the size of the first dimension."""
        if not self._shape:
            raise TypeError(f"{self.name} has no dimensions.")
        return self._shape[0]

    def read(self, slicing: str = "...") -> Array:
        """Return a slice that is given as text.

        Use::

            value.read("[0, ::2]")

        Args:
          slicing: NumPy's notation; the brackets may be left out.

        Returns:
          As for indexing.

        Raises:
          BadQueryError: It is not NumPy's notation, or does not fit the shape.
          NotFoundError: The elements are not kept, are cut off or are damaged.
        """
        return self[parse(slicing)]

    def statistics(
        self, slicing: str = "...", *, bins: int = 40, low: float | None = None, high: float | None = None
    ) -> Json:
        """Return counts of kinds, moments of the finite elements and a histogram of a slice.

        Use::

            value.statistics(low=0.0)["in_range"]

        Args:
          slicing: NumPy's notation.
          bins: The number of bins of the histogram; the default is 40.
          low: The lower end of a range, which belongs to it; None = no lower end.
          high: The upper end, which belongs to it; None = no upper end.

        Returns:
          ``size``, ``counts``, ``min``, ``max``, ``mean``, ``std``, ``histogram`` and ``in_range``, as the
          route ``values/summary`` of ``docs/http-api.md``. Complex numbers are taken by magnitude.

        Raises:
          BadQueryError: The slice is wrong.
          NotFoundError: The elements are not kept, are cut off or are damaged.
        """

        def of_slice(elements: StoredElements, chosen: Slicing) -> Json:
            return statistics(elements, chosen, bins=bins, low=low, high=high, part="abs")

        return self._with(parse(slicing), of_slice)

    def save(self, path: str | os.PathLike[str], slicing: str = "...") -> Path:
        """Write a slice as a file ``.npy``, part by part.

        Use::

            value.save("log.npy")
            np.load("log.npy")

        Args:
          path: The file.
          slicing: NumPy's notation.

        Returns:
          The path. bfloat16 and float8 are float32 in the file, since NumPy does not load them.

        Raises:
          BadQueryError: The slice is wrong, or the elements are strings.
          NotFoundError: The elements are not kept, are cut off or are damaged.
          OSError: The file cannot be written.
        """

        def write(elements: StoredElements, chosen: Slicing) -> Path:
            _, parts = npy_size_and_parts(elements, chosen)
            with Path(path).open("wb") as stream:
                stream.writelines(parts)
            return Path(path)

        return self._with(parse(slicing), write)

    def _with(self, indices: object, action: Callable[[StoredElements, Slicing], T]) -> T:
        indices = indices if isinstance(indices, tuple) else (indices,)
        if any(isinstance(index, (list, np.ndarray)) for index in indices):
            raise BadQueryError(
                "A value is sliced by integers, slices and ...; read a slice and index the array."
            )
        with self._recorded.elements() as elements:
            return action(elements, slicing_of(indices, elements.shape))
