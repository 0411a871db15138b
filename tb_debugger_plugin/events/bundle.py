"""A bundle: a call of a function with all that it takes, so that it runs again without its program.

A bundle is one file beside the event files, ``….replay_<number>``. It is a sequence of TFRecords: a header in
JSON, a serialised ``FunctionDefLibrary``, and the values, each a serialised ``TensorProto`` in one or several
records.

Invariant: reading a file runs nothing and fails only with a `FormatError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import framing

#: The version of the format.
VERSION: Final = 1
_NAME: Final = re.compile(r"(?P<prefix>.+\.)replay_(?P<number>\d{1,9})(?P<more>|\.\w+)", re.DOTALL)
_MAX_HEADER: Final = 64 << 20
#: Bytes of a value in one record.
_CHUNK: Final = 1 << 26
_NOT_A_BUNDLE: Final = "{} is not the bundle of a call: {}."

#: What an argument is: a tensor; a variable, by its value before the call; a list of tensors; or a resource
#: that the call does not use.
Kind: TypeAlias = Literal["value", "variable", "list", "unused"]


@dataclass(frozen=True)
class Argument:
    """An argument of the function.

    Attributes:
      name: Its name in the function.
      kind: What it is.
      dtype: Name of the dtype of its elements.
      shape: Shape of a variable, -1 for a size that is not known; None where no size is, and for others.
      title: Name of the variable in the program; empty where it is not known.
      values: Positions of its values in the file: none of a variable that had no value, several of a list.
    """

    name: str
    kind: Kind
    dtype: str
    shape: tuple[int, ...] | None = None
    title: str = ""
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Result:
    """A result that the call had.

    Attributes:
      dtype: Name of its dtype.
      shape: Its shape.
      digest: SHA-256 of its bytes in hexadecimal digits; empty if it cannot be compared.
    """

    dtype: str
    shape: tuple[int, ...]
    digest: str


@dataclass(frozen=True)
class Header:
    """What a bundle says of its call.

    Attributes:
      function: Name of the function in the bundle.
      original: Name in the recording of the function of which it is a copy.
      title: Its name in the program.
      call: Number of the call, among those of the function in its process, from 0.
      step: The step of the program; None where it is not known.
      wall_time: When it was written, in seconds since the epoch.
      bad: What was bad after the call, in words.
      arguments: Its arguments.
      results: Its results.
      sizes: Bytes of each value in the file.
      left_out: Sizes of the values that the file does not hold because of a limit, in bytes, by position.
      optionals: Which values are optionals: the positions of their parts by their own; no parts if empty.
      versions: Versions of TensorFlow and other packages, by name.
    """

    function: str
    original: str
    title: str
    call: int
    step: int | None
    wall_time: float
    bad: tuple[str, ...]
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    sizes: tuple[int, ...]
    left_out: Mapping[int, int]
    optionals: Mapping[int, tuple[int, ...]]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Bundle:
    """A call that can run again.

    Attributes:
      header: What is said of it.
      functions: The serialised ``FunctionDefLibrary`` of the function and those that it calls.
      values: The serialised values by position; an empty one was left out.
    """

    header: Header
    functions: bytes
    values: Sequence[bytes]


def suffix(number: int) -> str:
    """Return the end of the name of a bundle, which follows the prefix of a file set.

    Args:
      number: Its number in the file set, from 1.
    """
    return f"replay_{number}"


def parse_name(name: str) -> tuple[str, int, str] | None:
    """Return the prefix of a file set, the number of a bundle, and what follows it in the name of a file.

    Args:
      name: A name, such as ``tfdbg_events.17.host.replay_1`` or ``tfdbg_events.17.host.replay_1.tried``.

    Returns:
      None if it is neither that of a bundle nor of a file about one.
    """
    match = _NAME.fullmatch(name)
    return match and (match["prefix"], int(match["number"]), match["more"])


def write_bundle(path: Path, bundle: Bundle) -> None:
    """Write a bundle as a whole: under another name first.

    Args:
      path: Its file.
      bundle: Its contents.

    Raises:
      OSError: The file cannot be written.
    """
    begun = path.with_name(path.name + ".part")
    with begun.open("wb") as stream:
        header = {"bundle": VERSION, **asdict(bundle.header)}
        stream.write(framing.frame(json.dumps(header).encode()))
        stream.write(framing.frame(bundle.functions))
        for value in bundle.values:
            for begin in range(0, len(value), _CHUNK):
                stream.write(framing.frame(value[begin : begin + _CHUNK]))
    begun.replace(path)


def read_bundle(path: Path) -> Bundle:
    """Read a bundle.

    Args:
      path: Its file.

    Raises:
      FormatError: It is not the bundle of a call, or damaged.
      OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        records, ends = framing.read_records(stream)
    if len(ends) != 1 or ends[0].kind is not framing.EndKind.CLEAN or len(records) < 2:
        raise FormatError(_NOT_A_BUNDLE.format(path, "it does not consist of whole records"))
    (_, first), (_, functions), *chunks = records
    header = _header(path, first)
    used = [number for argument in header.arguments for number in argument.values]
    used += [number for parts in header.optionals.values() for number in parts]
    remaining = (chunk for _, chunk in chunks)
    values = [_value(remaining, size) for size in header.sizes]
    is_whole = [len(value) for value in values] == [*header.sizes] and next(remaining, None) is None
    if not is_whole or any(not 0 <= number < len(values) for number in used):
        raise FormatError(_NOT_A_BUNDLE.format(path, "values of it are missing"))
    return Bundle(header, functions, values)


def _value(chunks: Iterator[bytes], size: int) -> bytes:
    """Return the next value of a size, or what there is of it."""
    parts: list[bytes] = []
    while size > 0 and (chunk := next(chunks, None)) is not None:
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def read_header(path: Path) -> Header:
    """Read what a bundle says of its call, and nothing else.

    Args:
      path: Its file.

    Raises:
      FormatError: It is not the bundle of a call.
      OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        for _, payload in framing.RecordReader(stream):
            return _header(path, payload)
    raise FormatError(_NOT_A_BUNDLE.format(path, "it does not begin with a record"))


def _header(path: Path, payload: bytes) -> Header:
    try:
        return _parsed(payload)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise FormatError(_NOT_A_BUNDLE.format(path, f"its header is wrong ({str(error)[:200]})")) from None


def _parsed(payload: bytes) -> Header:
    if len(payload) > _MAX_HEADER:
        raise ValueError("too much")
    facts = json.loads(payload)
    if facts.get("bundle") != VERSION:
        raise ValueError(f"it has the version {facts.get('bundle')!r}, and not {VERSION}")
    return Header(
        function=_text(facts["function"]),
        original=_text(facts["original"]),
        title=_text(facts["title"]),
        call=int(facts["call"]),
        step=None if facts["step"] is None else int(facts["step"]),
        wall_time=float(facts["wall_time"]),
        bad=tuple(map(_text, facts["bad"])),
        arguments=tuple(map(_argument, facts["arguments"])),
        results=tuple(
            Result(_text(one["dtype"]), _counts(one["shape"]), _text(one["digest"]))
            for one in facts["results"]
        ),
        sizes=_counts(facts["sizes"]),
        left_out={int(number): int(size) for number, size in facts["left_out"].items()},
        optionals={int(number): _counts(parts) for number, parts in facts["optionals"].items()},
        versions={_text(name): _text(version) for name, version in facts["versions"].items()},
    )


def _argument(facts: dict[str, Any]) -> Argument:
    known = {field.name: facts[field.name] for field in fields(Argument)}
    if known["kind"] not in get_args(Kind):
        raise ValueError(f"an argument is of the kind {known['kind']!r}")
    texts = {name: _text(known[name]) for name in ("name", "dtype", "title")}
    return Argument(
        kind=known["kind"], shape=_sizes(known["shape"]), values=_counts(known["values"]), **texts
    )


def _sizes(value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise TypeError("something other than sizes")
    return tuple(value)


def _counts(value: object) -> tuple[int, ...]:
    counts = _sizes(value)
    if counts is None or any(count < 0 for count in counts):
        raise TypeError("something other than sizes")
    return counts


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("something other than a name")
    return value
