"""`capture`: the census with programs of libraries on top of TensorFlow; `make test-libraries` runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.census import MODES, Census

pytestmark = [
    pytest.mark.libraries,
    pytest.mark.tensorflow,
]

PROGRAMS = (
    "gaussian_process",
    "sparse_gaussian_process",
    "variational_gaussian_process",
    "distributions",
    "hamiltonian_monte_carlo",
)
each_program = pytest.mark.parametrize("program", PROGRAMS)


@pytest.fixture(scope="module")
def census() -> Iterator[Census]:
    with tempfile.TemporaryDirectory() as folder:
        yield Census("tests.libraries.zoo", Path(folder))


@each_program
@pytest.mark.parametrize("mode", MODES)
def test_whatever_tensorflows_recorder_sees_is_on_record_as_often(
    census: Census, mode: str, program: str
) -> None:
    assert not census.made(program, mode).failure
    assert not census.failure_under_tensorflows(program)
    assert census.seen_by_tensorflows(program) > 100
    sentences, _ = census.missing(program, mode)
    assert not sentences


@each_program
def test_each_function_is_watched_or_named_as_one_that_is_not(census: Census, program: str) -> None:
    assert census.made(program).functions
    assert census.unnamed(program) == []
