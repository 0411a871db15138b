"""The options of the pytest plugin, which pytest loads wherever the package is installed.

Use::

    pytest --tb-debugger

Invariant: without ``--tb-debugger`` nothing else of the package is imported, no TensorFlow, and no test is
touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MARKER = "tb_debugger_allow"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tb_debugger", "TensorFlow numerics (tb_debugger_plugin)")
    group.addoption(
        "--tb-debugger",
        action="store_true",
        help="record the TensorFlow ops of each test, and fail tests that compute NaN, with the reason",
    )
    group.addoption(
        "--tb-debugger-kinds",
        default="nan",
        choices=["nan", "nan,inf"],
        help="which values fail a test (default: nan; infinities are often meant, as in masks)",
    )
    group.addoption(
        "--tb-debugger-logdir",
        metavar="DIR",
        help="keep the recordings of the tests that fail here (default: a temporary folder)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Record tests, if the user wants it."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(reason, rule=None, op_name=None, op_type=None, line=None): NaN that fits is meant,"
        " as in tbdbg_allow.toml; with a reason only, all NaN of the test",
    )
    if config.getoption("--tb-debugger"):
        from tb_debugger_plugin.testing.recorder import Recorder

        config.pluginmanager.register(Recorder(config), "tb_debugger_recorder")
