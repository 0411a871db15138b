"""How property tests run: few examples in each run of the tests, more in `make test-long`.

A pytest plugin, too: `-p tests.support.examples` has its profiles where `tests/property` is not.
"""

from __future__ import annotations

from typing import Final

from hypothesis import Phase, settings

#: Hypothesis' own number of examples, and that of the profile "thorough", in which each test tries more.
_USUAL: Final = 100
THOROUGH: Final = 500
# Timings decide no test.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")
settings.register_profile("thorough", max_examples=THOROUGH)
# Of a test that is to fail, the first example is enough.
settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))


def examples(usual: int) -> int:
    """Returns the number of examples of a test in the profile that was chosen.

    Args:
      usual: The number in each run of the tests.
    """
    return usual * max(settings().max_examples, _USUAL) // _USUAL
