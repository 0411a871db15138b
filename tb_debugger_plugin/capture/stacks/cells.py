"""Names notebook cells: `Cell In[4]` for code that IPython compiled under a file name of its own.

The file name of a cell is `ipykernel_26533/1570506886.py` in a notebook and `<ipython-input-4-…>` in a
terminal. IPython has its number, and `linecache` its text.

Invariant: a name means one text while the process runs, also when IPython uses a number again.
"""

from __future__ import annotations

import sys
import threading


def ipythons_label(filename: str) -> str | None:
    """IPython's name of a cell, such as `Cell In[4]`; None for another file, and when IPython does not run.

    Args:
      filename: The file name of a code object.
    """
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    try:
        words = ipython.get_ipython().compile.format_code_name(filename)
        return None if words is None else " ".join(words)
    except Exception:  # no shell, or an unknown version of IPython: the cell keeps its file name
        return None


class Cells:
    """The cells seen so far. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the following fields
        self._paths: dict[tuple[str, str], str] = {}  # by label and file name
        self._files: dict[str, str] = {}  # file names by path

    def path_of(self, filename: str) -> str | None:
        """Return the path under which a cell is recorded; None when the file is no cell.

        Args:
          filename: The file name of a code object.
        """
        label = ipythons_label(filename)
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
        """Return the file name under which `linecache` has the text of a recorded path."""
        return self._files.get(path, path)

    def __contains__(self, path: str) -> bool:
        """Whether a cell is recorded under this path."""
        return path in self._files


#: The cells of this process.
CELLS = Cells()
