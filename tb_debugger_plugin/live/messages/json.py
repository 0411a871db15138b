"""Messages as JSON-like values, and back.

A message is an object with a member for each field, named as in ``protos/live.proto``. Enums are their names
in lower case, integers are numbers, a message that is not set is null, and so is a number that is not finite.
Field names of a ``oneof`` are members like all others.

Invariants: any message becomes JSON. Only JSON that names known fields with values of their types and in
bounds becomes a message; everything else is a :class:`BadQueryError` that names the member.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as AnyMessage
from google.protobuf.message_factory import GetMessageClass

from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.messages import is_repeated
from tb_debugger_plugin.live.messages.messages import Message

_MAX_TEXT: Final = 10_000
_MAX_LIST: Final = 1000
#: The integers of a type; numbers above 2**53 are not exact in a browser.
_BOUNDS: Final = {
    FieldDescriptor.CPPTYPE_INT32: 2**31,
    FieldDescriptor.CPPTYPE_INT64: 2**53,
}


def to_json(message: Message) -> dict[str, Any]:
    """Return a message as a JSON-like value.

    Args:
      message: A message of ``live.messages.messages``.
    """
    return {field.name: _member(message, field) for field in message.DESCRIPTOR.fields}


def _member(message: Message, field: FieldDescriptor) -> object:
    if is_repeated(field):
        return [_value(field, one) for one in getattr(message, field.name)]
    has_presence = field.message_type is not None or field.containing_oneof is not None
    if has_presence and not message.HasField(field.name):
        return None
    return _value(field, getattr(message, field.name))


def _value(field: FieldDescriptor, value: object) -> object:
    if isinstance(value, AnyMessage):
        return to_json(value)
    if field.enum_type is not None and isinstance(value, int):
        # A program of another version may send a number that has no name here.
        known = field.enum_type.values_by_number
        return known.get(value, known[0]).name.lower()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.hex() if isinstance(value, bytes) else value


def parse(text: bytes) -> object:
    """Return the value of a JSON text.

    Args:
      text: JSON in UTF-8; the caller bounds its length.

    Raises:
      BadQueryError: It is not JSON, is nested too deeply, or names a member twice.
    """
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_members, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadQueryError("The body of the request is not JSON.") from error


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded; JSON can name halves of pairs, which cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is named twice")
    return members


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def from_json(kind: type[Message], value: object, name: str) -> Message:
    """Return a message with the members of a JSON-like value.

    Args:
      kind: The class of the message.
      value: An object; members that are null are not set.
      name: What to call it in an error.

    Raises:
      BadQueryError: It has other members than the message has fields, or a value does not fit its field.
    """
    if not isinstance(value, dict):
        raise BadQueryError(f"{name} must be an object.")
    message = kind()
    for member, given in value.items():
        field = message.DESCRIPTOR.fields_by_name.get(member)
        where = f"{name}.{member[:50]}"
        if field is None:
            raise BadQueryError(f"{where} is not known.")
        if given is not None:
            _check_alone(message, field, where)
            _set(message, field, given, where)
    return message


def _check_alone(message: Message, field: FieldDescriptor, where: str) -> None:
    choice = field.containing_oneof
    if choice is not None and message.WhichOneof(choice.name) is not None:
        other = message.WhichOneof(choice.name)
        raise BadQueryError(f"{where} and {other} cannot be given together.")


def _set(message: Message, field: FieldDescriptor, given: object, where: str) -> None:
    if is_repeated(field):
        if not isinstance(given, list) or len(given) > _MAX_LIST:
            raise BadQueryError(f"{where} must be a list of at most {_MAX_LIST} values.")
        getattr(message, field.name).extend(_checked(field, one, where) for one in given)
    elif field.message_type is not None:
        inner = getattr(message, field.name)
        inner.CopyFrom(from_json(type(inner), given, where))
        inner.SetInParent()
    else:
        setattr(message, field.name, _checked(field, given, where))


def _checked(field: FieldDescriptor, given: object, where: str) -> object:
    return _CHECKS[field.cpp_type](field, given, where)


def _message(field: FieldDescriptor, given: object, where: str) -> Message:
    assert field.message_type is not None, "by its type"
    return from_json(GetMessageClass(field.message_type), given, where)


def _integer(field: FieldDescriptor, given: object, where: str) -> int:
    bound = _BOUNDS[field.cpp_type]
    if type(given) is not int or not -bound <= given < bound:
        raise BadQueryError(f"{where} must be a whole number.")
    return given


def _number(field: FieldDescriptor, given: object, where: str) -> float:
    if not isinstance(given, (int, float)) or isinstance(given, bool) or abs(given) > 1e308:
        raise BadQueryError(f"{where} must be a number.")
    return float(given)


def _boolean(field: FieldDescriptor, given: object, where: str) -> bool:
    if type(given) is not bool:
        raise BadQueryError(f"{where} must be true or false.")
    return given


def _text(field: FieldDescriptor, given: object, where: str) -> str:
    if type(given) is not str or field.type == FieldDescriptor.TYPE_BYTES:
        raise BadQueryError(f"{where} must be a text.")
    if len(given) > _MAX_TEXT:
        raise BadQueryError(f"{where} is longer than {_MAX_TEXT} characters.")
    if not is_unicode(given):
        raise BadQueryError(f"{where} is not Unicode.")
    return given


def _enum(field: FieldDescriptor, given: object, where: str) -> int:
    assert field.enum_type is not None, "by its type"
    names = {value.name.lower(): value.number for value in field.enum_type.values}
    if type(given) is not str or given not in names:
        raise BadQueryError(f"{where} must be one of {', '.join(names)}.")
    return int(names[given])


#: By the type of a field: returns the value to set.
_CHECKS: Final[dict[int, Callable[[FieldDescriptor, object, str], object]]] = {
    FieldDescriptor.CPPTYPE_MESSAGE: _message,
    FieldDescriptor.CPPTYPE_INT32: _integer,
    FieldDescriptor.CPPTYPE_INT64: _integer,
    FieldDescriptor.CPPTYPE_DOUBLE: _number,
    FieldDescriptor.CPPTYPE_BOOL: _boolean,
    FieldDescriptor.CPPTYPE_STRING: _text,
    FieldDescriptor.CPPTYPE_ENUM: _enum,
}
