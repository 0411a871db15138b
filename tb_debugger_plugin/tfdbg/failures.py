"""Tells failures of ops from the other exceptions that a call may raise."""

from __future__ import annotations

from typing import Final

import tensorflow as tf

#: What programs catch to go on: the end of a data set is no failure.
_NO_FAILURES: Final = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def is_failure(error: BaseException) -> bool:
    """Whether an error comes from an op that failed."""
    return isinstance(error, tf.errors.OpError) and not isinstance(error, _NO_FAILURES)
