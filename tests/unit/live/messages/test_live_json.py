"""`live/messages/json.py`: messages as JSON, and back."""

from __future__ import annotations

import json as plain_json
import math

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.messages import is_repeated
from tb_debugger_plugin.live.messages import json, messages

_STATE = messages.State(
    version=7,
    phase=messages.State.PAUSED,
    call=messages.Call(number=3, kind=messages.Call.SESSION_RUN, fetches=["loss:0"]),
    breakpoints=[messages.Breakpoint(number=1, where=messages.Where(op_name="Log", slot=-1))],
)


def test_every_field_of_a_message_is_a_member():
    actual = json.to_json(_STATE)
    assert list(actual) == [field.name for field in messages.State.DESCRIPTOR.fields]
    assert (actual["phase"], actual["version"], actual["read_only"]) == ("paused", 7, False)
    assert actual["call"]["kind"] == "session_run" and actual["call"]["fetches"] == ["loss:0"]
    assert actual["breakpoints"][0]["where"]["slot"] == -1


def test_a_message_that_is_not_set_is_null():
    assert json.to_json(_STATE)["pause"] is None
    command = json.to_json(messages.Command(remove_breakpoint=0))
    assert command["remove_breakpoint"] == 0 and command["unwatch"] is None and command["step"] is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_null(value):
    assert json.to_json(messages.Number(name="max", value=value)) == {"name": "max", "value": None}


def test_an_enum_of_another_version_has_the_first_name():
    state = messages.State.FromString(b"\x10\x63")  # field 2, 99
    assert state.phase == 99 and json.to_json(state)["phase"] == "phase_unknown"


def test_a_command_is_read_with_its_parts():
    given = {
        "set_breakpoint": {"where": {"op_name": "Log", "slot": -1}, "condition": "nan > 0", "enabled": True},
        "step": None,
        "pause_number": 3,
    }
    command = json.from_json(messages.Command, given, "command")
    assert command.WhichOneof("what") == "set_breakpoint" and command.pause_number == 3
    assert command.set_breakpoint.where.slot == -1 and command.set_breakpoint.enabled


def test_a_command_without_content_is_set():
    assert json.from_json(messages.Command, {"step_over": {}}, "command").WhichOneof("what") == "step_over"


def test_an_enum_and_a_list_are_read():
    state = json.from_json(messages.State, {"phase": "running", "watched": [{"number": 2}]}, "state")
    assert state.phase == messages.State.RUNNING and state.watched[0].number == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "command must be an object."),
        ({"steps": {}}, "command.steps is not known."),
        ({"step": {}, "detach": {}}, "command.detach and step cannot be given together."),
        ({"step": {"times": 2}}, "command.step.times is not known."),
        ({"step": 1}, "command.step must be an object."),
        ({"remove_breakpoint": True}, "command.remove_breakpoint must be a whole number."),
        ({"remove_breakpoint": 1.0}, "command.remove_breakpoint must be a whole number."),
        ({"remove_breakpoint": 2**31}, "command.remove_breakpoint must be a whole number."),
        ({"pause_number": -(2**53) - 1}, "command.pause_number must be a whole number."),
        ({"continue_": {"condition": 3}}, "command.continue_.condition must be a text."),
        ({"continue_": {"condition": "x" * 10_001}}, "command.continue_.condition is longer than 10000"),
        ({"continue_": {"condition": "\ud800"}}, "command.continue_.condition is not Unicode."),
        ({"watch": {"calls": 1}}, "command.watch.calls must be true or false."),
        ({"x" * 90: 1}, f"command.{'x' * 50} is not known."),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(given, said):
    with pytest.raises(BadQueryError) as error:
        json.from_json(messages.Command, given, "command")
    assert str(error.value).startswith(said)


def test_members_of_other_types_are_refused():
    for wrong in ({"phase": "flying"}, {"phase": 2}, {"breakpoints": {}}, {"breakpoints": [{}] * 1001}):
        with pytest.raises(BadQueryError):
            json.from_json(messages.State, wrong, "state")
    with pytest.raises(BadQueryError):
        json.from_json(messages.Number, {"value": 10**400}, "number")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff", b"NaN", b'{"a": 1, "a": 2}', b"[" * 60_000, b"9" * 60_000, b'{"a":' * 9_000]
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(BadQueryError):
        json.parse(text)


_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=9)
_VALUES: dict[int, st.SearchStrategy] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**53), 2**53 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(-1e308, 1e308),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_STRING: _TEXT,
}


@st.composite
def _messages(draw: st.DrawFn, kind: type[Message]) -> Message:
    message = kind()
    taken = set()
    for field in kind.DESCRIPTOR.fields:
        choice = field.containing_oneof
        if not draw(st.booleans()) or (choice is not None and choice.name in taken):
            continue
        taken.add(choice.name if choice is not None else "")
        _fill(draw, message, field)
    return message


def _fill(draw: st.DrawFn, message: Message, field: FieldDescriptor) -> None:
    value = getattr(message, field.name)
    if is_repeated(field):
        value.extend(_draw(draw, field) for _ in range(draw(st.integers(0, 2))))
    elif field.message_type is not None:
        value.CopyFrom(_draw(draw, field))
        value.SetInParent()
    else:
        setattr(message, field.name, _draw(draw, field))


def _draw(draw: st.DrawFn, field: FieldDescriptor) -> object:
    if field.message_type is not None:
        return draw(_messages(field.message_type._concrete_class))
    if field.enum_type is not None:
        return draw(st.sampled_from([value.number for value in field.enum_type.values]))
    return draw(_VALUES[field.cpp_type])


@pytest.mark.parametrize("kind", [messages.Command, messages.State], ids=["command", "state"])
@given(st.data())
def test_every_message_survives_the_way_there_and_back(kind, data):
    message = data.draw(_messages(kind))
    text = plain_json.dumps(json.to_json(message), allow_nan=False).encode()
    assert json.from_json(kind, json.parse(text), "message") == message


_NAMES = st.sampled_from([*messages.Command.DESCRIPTOR.fields_by_name, "where", "op_name", "calls"])
_ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=9,
)


@given(_ANY_JSON)
def test_any_json_is_a_command_or_is_refused_in_a_sentence(value):
    try:
        json.from_json(messages.Command, value, "command").SerializeToString()
    except BadQueryError as error:
        assert str(error).endswith(".")
