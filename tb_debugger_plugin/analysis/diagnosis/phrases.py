"""Sentences as phrases, each of a kind that says how to draw it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tb_debugger_plugin.analysis.snapshot import Json, JsonObject
from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.events.tensorflow_names import display_name

PhraseRole: TypeAlias = Literal["text", "code", "number", "link"]


@dataclass(frozen=True)
class LinkTarget(JsonObject):
    """A recorded value that a link leads to: a graph execution, an op that was not recorded, or an execution.

    Attributes:
      graph_id, op_name: The op; None for an execution.
      graph_execution_index: Position of its value; None when none is on record.
      execution_index: Position of the execution; None for an op.
    """

    graph_id: str | None = None
    op_name: str | None = None
    graph_execution_index: int | None = None
    execution_index: int | None = None


@dataclass(frozen=True)
class Phrase(JsonObject):
    """A part of a sentence.

    Attributes:
      role: How it is drawn: ``text``, ``code``, ``number`` (a count or a magnitude) or ``link``.
      text: The words; those of all phrases together are the sentence.
      target: Only of a link: the recorded value that it leads to.
    """

    role: PhraseRole
    text: str
    target: LinkTarget | None = None

    def to_json(self) -> Json:
        """Return the phrase as the HTTP contract has it; ``target`` is there for links only."""
        return {name: value for name, value in super().to_json().items() if value is not None}


Phrases: TypeAlias = tuple[Phrase, ...]


def text(words: str) -> Phrase:
    """Plain words."""
    return Phrase("text", words)


def code(words: str) -> Phrase:
    """Return a name or a line of a program."""
    return Phrase("code", words)


def number(words: str) -> Phrase:
    """Return a count of bad values."""
    return Phrase("number", words)


def plain_text(phrases: Iterable[Phrase]) -> str:
    """Return the words of some phrases, without their kinds."""
    return "".join(phrase.text for phrase in phrases)


def headline(op_type: str, line: UserLine | None) -> str:
    """Return an op and its line in plain text: "Log in cross_entropy, train.py:68"."""
    name = display_name(op_type)
    if line is None:
        return name
    return f"{name}{f' in {line.function}' if line.function else ''}, {line.name}"


def moment_words(step: int | None) -> str:
    """Return the sentence on when a value was computed; empty where the step says nothing."""
    return "" if step is None else f"This was in step {step}."


def line_phrases(line: UserLine | None, target: LinkTarget, forward: Phrase | None = None) -> Phrases:
    """Return a line of the program as a link, with its text.

    Args:
      line: The line; None when it is not known.
      target: Where the link leads.
      forward: Of an op of a gradient, the op whose gradient it is.
    """
    before: Phrases = ()
    if forward is not None:
        before = (text("Part of the gradient of "), forward, text(". "))
    if line is None:
        return before
    link = Phrase("link", line.name, target)
    return (*before, link, text(" "), code(line.text)) if line.text else (*before, link)
