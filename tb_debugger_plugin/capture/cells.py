"""Names of notebook cells: `Cell In[4]` for code that IPython compiled under a file name of its own making.

IPython calls a cell `ipykernel_26533/1570506886.py` in a notebook and `<ipython-input-4-…>` in a terminal,
keeps its text in `linecache`, and knows its number. Rule: a name stands for one text for as long as the
process runs, also where a number is given out again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def ipythons_label(filename: str) -> str | None:
    """How IPython calls a cell, such as `Cell In[4]`; None of any other file, and where IPython does not run.

    Args:
      filename: As a code object has it.
    """
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    try:
        found = ipython.get_ipython().compile.format_code_name(filename)
        return None if found is None else " ".join(found)
    except Exception:  # no shell, or another IPython than those we know: the cell keeps its file name
        return None


class Cells:
    """The cells that were met so far. Thread-safe.

    Args:
      label: Gives the name of a cell by its file name; None of what is none.
    """

    def __init__(self, label: Callable[[str], str | None] = ipythons_label) -> None:
        self._label = label
        self._lock = threading.Lock()  # guards what follows
        self._paths: dict[tuple[str, str], str] = {}  # by label and file name
        self._files: dict[str, str] = {}  # file names by path

    def path_of(self, filename: str) -> str | None:
        """The path under which a cell is recorded; None of what is no cell.

        Args:
          filename: As a code object has it.
        """
        label = self._label(filename)
        if label is None:
            return None
        path = self._paths.get((label, filename))
        return self._add(label, filename) if path is None else path

    def _add(self, label: str, filename: str) -> str:
        with self._lock:
            path, number = label, 1
            while self._files.get(path, filename) != filename:
                number += 1
                path = f"{label} ({number})"
            self._files[path] = filename
            self._paths[label, filename] = path
            return path

    def file_of(self, path: str) -> str:
        """The file name under which `linecache` has the text of what is recorded under a path."""
        return self._files.get(path, path)

    def __contains__(self, path: str) -> bool:
        """Whether a cell is recorded under this path."""
        return path in self._files


#: Those of this process.
CELLS = Cells()
