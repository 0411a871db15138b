"""`capture`: real programs are recorded with every tensor that TensorFlow's own recorder records, and more.

The exceptions are data in `tests.support.census`, with their reasons. Each function of a program is watched,
or the recording names it as one that is not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.census import ALL_TENSORS, MODES, NOT_WANTED, ONCE, Census
from tests.support.zoo import PROGRAMS

pytestmark = pytest.mark.tensorflow

#: The programs that fail under TensorFlow's recorder, and what they say then.
FAILING_UNDER_TENSORFLOWS = {
    "session": "Control dependencies must come after regular dependencies",
}
each_program = pytest.mark.parametrize("program", PROGRAMS)


#: Recording all programs in one more mode takes half a minute.
each_mode = pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[pytest.mark.long] * (mode != ALL_TENSORS)) for mode in MODES]
)


@pytest.fixture(scope="module")
def census(request: pytest.FixtureRequest) -> Iterator[Census]:
    """Not in a folder of pytest's, where TensorFlow's reader reads all: a third are its own."""
    chosen = {item.get_closest_marker("long") is not None for item in request.session.items}
    modes = [mode for mode in MODES if mode == ALL_TENSORS or True in chosen]
    with tempfile.TemporaryDirectory() as folder:
        yield Census("tests.support.zoo", Path(folder), modes)


@each_program
@each_mode
def test_whatever_tensorflows_recorder_sees_is_on_record_as_often(
    census: Census, mode: str, program: str
) -> None:
    assert not census.made(program, mode).failure
    failure = census.failure_under_tensorflows(program)
    if failure:
        assert FAILING_UNDER_TENSORFLOWS.get(program, f"not {failure}") in failure
    else:
        # It sees nothing in the graphs that are wrapped as functions.
        assert census.seen_by_tensorflows(program) or program == "wrapped"
        sentences, _ = census.missing(program, mode)
        assert not sentences


@each_program
def test_each_function_is_watched_or_named_as_one_that_is_not(census: Census, program: str) -> None:
    assert census.made(program).functions or program == "session_of_old_control_flow"
    assert census.unnamed(program) == []


def test_no_exclusion_is_there_that_nothing_needs(census: Census) -> None:
    needed = set().union(*(census.missing(program, ALL_TENSORS)[1] for program in PROGRAMS))
    assert needed == {each.reason for each in (*NOT_WANTED, *ONCE)}
