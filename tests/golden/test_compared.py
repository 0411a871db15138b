"""`analysis/compare`: one program, recorded by two versions of TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_debugger_plugin.reading.run import open_run

_HERE = Path(__file__).parent


@pytest.mark.parametrize("mode", ["CURT_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR"])
def test_versions_of_tensorflow_compute_the_same(mode: str) -> None:
    old, new = (_HERE / f"tensorflow-{version}" / mode for version in ("2.12.1", "2.21.0"))
    with open_run(old) as first, open_run(new) as second:
        comparison = first.compare(second)
    assert comparison.first_difference is None, comparison.headline
    assert comparison.num_compared_tensors >= 10
