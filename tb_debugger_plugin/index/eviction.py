"""Keeps the cache folder below a size: ``$TB_DEBUGGER_CACHE_GB``, else 2 GiB.

Databases of runs that are gone are deleted first, then those that were used longest ago, and never one that a
viewer has open. A loader does this in its own thread when it has opened and read a run.
"""

from __future__ import annotations

import logging
import math
import os
from typing import Final

from tb_debugger_plugin.index.cache import databases, remove_unused

_logger = logging.getLogger(__name__)

_ENVIRONMENT: Final = "TB_DEBUGGER_CACHE_GB"
_DEFAULT_GB: Final = 2.0
#: Deleting goes on to below the limit, so that not each run that is opened deletes another one.
_SHARE_LEFT: Final = 0.8


def cache_limit() -> int:
    """How many bytes the cache folder may hold; what is in use may be more."""
    text = os.environ.get(_ENVIRONMENT, "")
    try:
        limit = float(text) if text else _DEFAULT_GB
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit >= 0):
        _logger.warning("%s must be a number of GiB, but is %r; it is taken as 2.", _ENVIRONMENT, text)
        limit = _DEFAULT_GB
    return int(limit * 2**30)


def keep_cache_small() -> None:
    """Delete databases that nobody uses while the cache folder holds more than it may."""
    limit, found = cache_limit(), databases()
    total = sum(one.size for one in found)
    if total <= limit:
        return
    for one in sorted(found, key=lambda one: (not one.is_gone, one.used)):
        if total <= limit * _SHARE_LEFT:
            return
        try:
            total -= one.size if remove_unused(one.path) else 0
        except OSError as error:
            _logger.warning("The tables %s cannot be deleted: %s", one.path, error)
            return
