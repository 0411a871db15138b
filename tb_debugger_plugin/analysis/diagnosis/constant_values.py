"""Reads the elements of a constant from the text of its attribute: ``float32 [2]: 0.5, inf``."""

from __future__ import annotations

import math
import re
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers

_TEXT: Final = re.compile(r"(?P<dtype>\w+) \[(?P<dims>[\d, ]*)\](?:: ?(?P<elements>.*))?", re.DOTALL)


def constant_numbers(text: str) -> Numbers | None:
    """Return the numbers of a constant; None when its text is cut or has no numbers.

    Args:
      text: The attribute ``value`` of a ``Const``.
    """
    found = _TEXT.fullmatch(text)
    if found is None or found["elements"] is None:
        return None
    size = math.prod(int(dim) for dim in found["dims"].split(",") if dim.strip())
    parts = [part.strip() for part in found["elements"].split(",") if part.strip()]
    try:
        values = [float(part) for part in parts]
    except ValueError:  # texts, complex numbers, booleans, or a list that was cut
        return None
    # A constant of many equal elements may be written as one of them.
    return Numbers.of_values(found["dtype"], values) if len(values) == size else None
