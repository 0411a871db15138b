"""Compares elements where both runs hold whole tensors and the summaries agree.

A summary does not change when elements change places. A bounded number of tensors is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.compare.elements import element_difference, recorded
from tb_debugger_plugin.analysis.compare.measuring import Job, Measured

#: Tensors that are read, and occurrences of each.
_MOST: Final = 2000
_OCCURRENCES: Final = 20


def with_elements(job: Job, measured: Sequence[Measured]) -> list[Measured]:
    """Return what was measured, with the differences of elements where they are larger."""
    left = _MOST
    result = []
    for one in measured:
        if one.is_whole and one.material < 0 and left > 0 and one.place.first.node not in job.unordered:
            left -= min(_OCCURRENCES, len(one.first))
            result.append(_refined(job, one))
        else:
            result.append(one)
    return result


def _refined(job: Job, one: Measured) -> Measured:
    eager = bool(one.place.first.keys)
    relative = one.relative.copy()
    for nth in range(min(_OCCURRENCES, len(one.first))):
        first = recorded(job.first, int(one.first[nth]), one.place.slot, eager=eager)
        second = recorded(job.second, int(one.second[nth]), one.place.slot, eager=eager)
        found = element_difference(first, second)
        if found is not None and found.num_different:
            relative[nth] = np.fmax(relative[nth], np.float32(found.relative))
            if relative[nth] > one.tolerance[nth]:
                time = first.wall_time
                local = (one.local, one.local_time) if one.local >= 0 else (nth, time)
                return replace(
                    *(one,),
                    relative=relative,
                    material=nth,
                    time=time,
                    local=local[0],
                    local_time=local[1],
                    any_time=min(one.any_time, time),
                )
    return one
