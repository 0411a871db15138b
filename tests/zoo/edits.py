"""Applies the edit that the debugger offers to a copy of a program and compares with its mended twin.

What is compared are the numbers that a program prints and its variables at the end. Twins are declared in the
programs; `truth` reads them.
"""

from __future__ import annotations

import re
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from tests.support import forked
from tests.zoo.answer import Edit
from tests.zoo.truth import PROGRAMS, Program

_NUMBER: Final = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)(?![\w.])")
#: How far an edit may be from the mended twin: an epsilon shows, a wrong value does not pass.
_RELATIVE: Final = 0.02
_ABSOLUTE: Final = 2e-3

#: `cured`: as the twin. `crashed`: it raises, or cannot be applied. `broken`: it runs and is another program.
Verdict: TypeAlias = Literal["cured", "crashed", "broken"]


class Trial(NamedTuple):
    """What came of an edit.

    Attributes:
      edit: The edit.
      verdict: What came of it.
      detail: Why it is not cured; empty if it is.
    """

    edit: Edit
    verdict: Verdict
    detail: str = ""


def trial(program: Program, edit: Edit) -> Trial:
    """Apply an edit to a copy of a program, and run it and the mended twin."""
    if program.mended is None:
        return Trial(edit, "broken", "the program declares no mended twin: add `# mended: ...`")
    changed = applied(program.text, edit)
    if changed is None:
        return Trial(edit, "crashed", f"the program has no {edit.before}")
    try:
        found = forked.call(results, program.path.stem, changed, program.arguments)
    except forked.CallError as error:
        return Trial(edit, "crashed", str(error)[-500:])
    twin = forked.call(results, program.path.stem, program.mended, program.arguments)
    difference = first_difference(found, twin)
    return Trial(edit, "broken" if difference else "cured", difference)


def applied(text: str, edit: Edit) -> str | None:
    """The source with an edit, on the line that was named or where it is first; None if it is nowhere."""
    lines = text.split("\n")
    order = sorted(range(len(lines)), key=lambda number: number != edit.line - 1)
    for number in order:
        code, mark, comment = lines[number].partition("  # ")
        if edit.before in code and not code.lstrip().startswith("# "):
            lines[number] = code.replace(edit.before, edit.after, 1) + mark + comment
            return "\n".join(lines)
    return None


def results(name: str, text: str, arguments: Sequence[str] = ()) -> list[float]:
    """Run a source in this process and return its numbers: what it printed, and its variables at the end."""
    printed: list[str] = []

    def collect(*values: object, **_: object) -> None:
        printed.extend(map(str, values))

    with tempfile.TemporaryDirectory(prefix="zoo-edit-") as folder:
        path = Path(folder, "buggy", f"{name}.py")
        path.parent.mkdir()
        path.write_text(text, "utf-8")
        for each in PROGRAMS.iterdir():
            if each.name != "buggy":
                Path(folder, each.name).symlink_to(each)
        sys.argv = [str(path), *arguments]
        names = runpy.run_path(str(path), {"print": collect}, "__main__")
    numbers = [float(found) for found in _NUMBER.findall(" ".join(printed))]
    return numbers + [float(value) for variable in _variables(names) for value in np.ravel(variable)]


def _variables(names: Mapping[str, object]) -> list[np.ndarray]:
    import keras
    import tensorflow as tf

    found = []
    for name in sorted(names):
        value = names[name]
        if isinstance(value, keras.Model):
            found += [np.asarray(weight, np.float64) for weight in value.get_weights()]
        elif isinstance(value, tf.Variable) and value.dtype.is_floating:
            found.append(np.asarray(value.numpy(), np.float64))
    return found


def first_difference(found: Sequence[float], twin: Sequence[float]) -> str:
    """Where the numbers of two runs differ, in words; empty if nowhere."""
    if not twin:
        return "the program shows no number: print one"
    if len(found) != len(twin):
        return f"{len(found)} numbers, and {len(twin)} of the mended twin"
    same = np.isclose(found, twin, _RELATIVE, _ABSOLUTE, equal_nan=True)
    if same.all():
        return "" if np.isfinite(twin).all() else "the mended twin is not finite itself"
    first = int(np.argmin(same))
    return f"number {first} is {found[first]:.6g}, and {twin[first]:.6g} in the mended twin"
