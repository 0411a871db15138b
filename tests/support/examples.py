"""Chooses how many examples a property test tries: few in each run of the tests, more in `make test-long`."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

#: Hypothesis' own number of examples, and that of the profile "thorough", in which each test tries more.
_USUAL: Final = 100
THOROUGH: Final = 500


def examples(usual: int) -> int:
    """Returns the number of examples of a test in the profile that was chosen.

    Args:
      usual: The number in each run of the tests.
    """
    return usual * max(settings().max_examples, _USUAL) // _USUAL
