"""`native/src/condition.cc`: the gate and Python agree on which tensors fulfil which conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin import native
from tb_debugger_plugin.capture import api as recorder
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.program import api
from tb_debugger_plugin.live.program.conditions import TensorCondition, gate_rule, parse_condition
from tb_debugger_plugin.live.program.tensors import numbers_of
from tests.support.conditions import PROGRAM, conditions

pytestmark = pytest.mark.skipif(native.load() is None, reason="the gate is in the native library")

VALUES = (
    np.float32([1, -2, 0, np.nan]),
    np.float32([np.inf, -np.inf, 3]),
    np.float32([0.5]),
    np.float32([-1, -1]),
    np.zeros(0, np.float32),
    np.float32([np.nan]),
)
#: Hits that do not stop: all of them.
IGNORED = 1 << 31


@pytest.fixture(params=["FULL_NUMERICS", "FULL_HEALTH", "NO_TENSOR"])
def passing(tmp_path, request):
    """A function that lets each of the values pass the gate, and the gate.

    The gate takes all numbers from the recording, some of them, or none.
    """

    name = f"negated_in_{request.param}"  # functions of earlier recordings are still there

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def negated(x):
        return tf.negative(x, name=name)

    with recorder.interactive(), api.record(tmp_path, request.param) as recording:
        negated(tf.constant([1.0]))
        yield negated, recording.gate, _id_of(recording, name)


def _id_of(recording, name):
    (number,) = (one.tensor_id for one in recording.watched if one.op_name == name)
    return frozenset([number])


def _parsed(text) -> TensorCondition | None:
    try:
        return parse_condition(text).at(PROGRAM)
    except UsageError:
        return None  # it is too long


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(conditions, min_size=20, max_size=40))
def test_the_gate_counts_the_hits_that_python_counts(passing, texts):
    negated, gate, ids = passing
    parsed = [one for one in map(_parsed, texts) if one is not None]
    gate.set_rules([])  # an equal rule would go on counting
    gate.set_rules([gate_rule(number, ids, one, IGNORED) for number, one in enumerate(parsed, 1)])
    for value in VALUES:
        negated(tf.constant(-value))
    numbers = [numbers_of(value, 1) for value in VALUES]
    expected = {number: sum(map(one.holds, numbers)) for number, one in enumerate(parsed, 1)}
    actual = gate.counts().hits
    assert {number: actual.get(number, 0) for number in expected} == expected
    assert math.isnan(numbers[4]["mean"])
