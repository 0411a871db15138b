"""What breakpoints can be at, and whether a breakpoint fits it.

Takes the `Where` of a breakpoint once, and then decides for each tensor and each call.

Invariant: every part that is given must fit. A breakpoint at calls fits no tensor, and one at tensors no
call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.messages.messages import Message

_MAX_TEXT: Final = 4096
_MAX_REGEX: Final = 500


class RegexError(UsageError):
    """A regular expression of a breakpoint cannot be used; its text says why."""


class Regex:
    """A regular expression, which is compared in time in proportion to the text: a debugger may send any.

    Args:
      text: The expression, in the language of RE2.

    Raises:
      RegexError: It is none.
    """

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_REGEX:
            raise RegexError(f"A regular expression of a breakpoint has at most {_MAX_REGEX} characters.")
        try:
            import re2  # only breakpoints with one need it
        except ImportError as error:
            raise RegexError(
                f"A regular expression needs the package google-re2, which cannot be imported: {error}."
            ) from None
        options = re2.Options()
        options.log_errors = False
        try:
            self._pattern: re2._Regexp = re2.compile(text, options)
        except (re2.error, UnicodeEncodeError) as error:
            raise RegexError(f"{text!r} is no regular expression of RE2: {_words(error)}.") from None

    def occurs_in(self, text: str) -> bool:
        """Return whether it is somewhere in a text."""
        return self._pattern.search(text.encode("utf-8", "replace")) is not None


def _words(error: Exception) -> str:
    (reason, *_) = error.args or ("",)
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(error)


class OpPlace(NamedTuple):
    """Where a tensor is made.

    Attributes:
      op_name: Name of the op; for an eager op, its type and a number in the call.
      slot: Number of the output.
      op_type: Type of the op.
      layer: Path of the Keras layer; empty if there is none.
      functions: Names of the functions it is in, the innermost first; `SESSION_GRAPH` in the graph of a
        session; empty for an eager op.
      path: Source file of the innermost line of the program that made the op; empty if it is not known.
      line: That line.
    """

    op_name: str
    slot: int
    op_type: str
    layer: str = ""
    functions: tuple[str, ...] = ()
    path: str = ""
    line: int = 0


@dataclass(frozen=True)
class BreakpointTarget:
    """What a breakpoint stops at.

    Attributes:
      op_name: Name of the op, or empty.
      slot: Number of the output; -1 for all.
      op_type: Type of the op, or empty.
      name: What occurs in the name of the op, or None.
      layer: What occurs in the path of the layer, or None.
      function: What occurs in the name of a function, or None.
      path: The source file, or the end of its path, or empty.
      line: The line; 0 for all lines.
      calls: Whether it stops at calls.
    """

    op_name: str
    slot: int
    op_type: str
    name: Regex | None
    layer: Regex | None
    function: Regex | None
    path: str
    line: int
    calls: bool

    def fits(self, place: OpPlace) -> bool:
        """Return whether it is at a tensor."""
        return self.fits_but_for_line(place) and (not self.path or self.fits_line(place.path, place.line))

    def fits_but_for_line(self, place: OpPlace) -> bool:
        """Return whether it is at a tensor, on whatever line."""
        return (
            not self.calls
            and (not self.op_type or self.op_type == place.op_type)
            and (not self.op_name or self.op_name == place.op_name)
            and (not self.op_name or self.slot in (-1, place.slot))
            and (self.name is None or self.name.occurs_in(place.op_name))
            and (self.layer is None or self.layer.occurs_in(place.layer))
            and (self.function is None or any(map(self.function.occurs_in, place.functions)))
        )

    def fits_line(self, path: str, line: int) -> bool:
        """Return whether it is at a line."""
        is_file = path == self.path or path.endswith(f"/{self.path}")
        return is_file and self.line in (0, line)

    def fits_call(self, name: str) -> bool:
        """Return whether it is at the calls of a function."""
        return self.calls and (self.function is None or self.function.occurs_in(name))

    @property
    def is_line(self) -> bool:
        """Whether it is a line and nothing else."""
        return self.line > 0 and self == replace(_NOTHING, slot=self.slot, path=self.path, line=self.line)

    @property
    def may_be_eager(self) -> bool:
        """Whether it may be at an output of an eager op."""
        return not self.calls and self.layer is None and self.function is None


_NOTHING: Final = BreakpointTarget("", -1, "", None, None, None, "", 0, False)


def says_nothing(where: Message) -> bool:
    """Return whether a `Where` names nothing, so that it is at every tensor."""
    return all(field.name == "slot" for field, _ in where.ListFields())


def make_target(where: Message) -> BreakpointTarget:
    """Return what a `Where` says.

    Raises:
      UsageError: It says nothing, or has a regular expression that is none.
    """
    texts = (where.op_name, where.op_type, where.path)
    if max(map(len, texts)) > _MAX_TEXT:
        raise UsageError("A name of a breakpoint is too long.")
    regexes = (where.name_regex, where.layer_regex, where.function_regex)
    if where.line and not where.path:
        raise UsageError("A line of a breakpoint needs the path of its file.")
    if where.calls and (any(texts) or any(regexes[:2])):
        raise UsageError("A breakpoint at calls takes a name of a function and nothing else.")
    if says_nothing(where):
        raise UsageError(
            "A breakpoint needs an op, a type, a layer, a function, a line, calls, or a condition."
        )
    name, layer, function = (Regex(text) if text else None for text in regexes)
    return BreakpointTarget(
        where.op_name, where.slot, where.op_type, name, layer, function, where.path, where.line, where.calls
    )


def described(where: Message) -> str:
    """Return a few words for what a breakpoint is at: ``Log on line 68 of train.py``."""
    if where.calls:
        return f"calls of {where.function_regex}" if where.function_regex else "all calls"
    name = where.op_name and where.op_name + (f":{where.slot}" if where.slot >= 0 else "")
    if says_nothing(where):
        return "any tensor"
    first = name or where.op_type or (f"ops like {where.name_regex}" if where.name_regex else "ops")
    parts = [first]
    if where.layer_regex:
        parts.append(f"of layers like {where.layer_regex}")
    if where.function_regex:
        parts.append(f"in functions like {where.function_regex}")
    if where.path:
        file = where.path.rsplit("/", 1)[-1]
        parts.append(f"on line {where.line} of {file}" if where.line else f"in {file}")
    return " ".join(parts)
