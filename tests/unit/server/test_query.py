"""`server/query.py`: numbers of requests, up to the ends of what is allowed."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.server.query import Query


def test_both_bounds_of_a_number_are_allowed_and_nothing_beyond():
    assert [Query({"n": text}).bounded("n", 1, 5) for text in ("1", "5")] == [1, 5]
    assert Query({}).bounded("n", 1, 5, default=3) == 3
    for text in ("0", "6", "-1", "1.5", ""):
        with pytest.raises(BadQueryError):
            Query({"n": text}).bounded("n", 1, 5)
