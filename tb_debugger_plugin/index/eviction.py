"""Keeps the cache folder below a size: ``$TB_DEBUGGER_CACHE_GB``, else 2 GiB.

Deletes the databases of runs that no longer exist first, then those that were used longest ago. It never
deletes a database that a viewer has open. A loader calls this in its own thread after it has opened and read
a run.
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
#: Deleting continues to this share of the limit, so that not every run that is opened deletes another one.
_SHARE_LEFT: Final = 0.8


def cache_limit() -> int:
    """Return the limit of the cache folder in bytes; databases in use may exceed it."""
    text = os.environ.get(_ENVIRONMENT, "")
    try:
        limit = float(text) if text else _DEFAULT_GB
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit >= 0):
        _logger.warning("%s must be a number of GiB, but is %r; the debugger uses 2.", _ENVIRONMENT, text)
        limit = _DEFAULT_GB
    return int(limit * 2**30)


def keep_cache_small() -> None:
    """Delete unused databases while the cache folder is above its limit."""
    limit, cached = cache_limit(), databases()
    total = sum(database.size for database in cached)
    if total <= limit:
        return
    for database in sorted(cached, key=lambda entry: (not entry.is_gone, entry.used)):
        if total <= limit * _SHARE_LEFT:
            return
        try:
            total -= database.size if remove_unused(database.path) else 0
        except OSError as error:
            _logger.warning("The tables %s cannot be deleted: %s", database.path, error)
