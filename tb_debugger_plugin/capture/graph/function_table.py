"""Keeps the functions of one recording: all that were seen, and those with watch ops in the runtime."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tb_debugger_plugin.capture.graph.copies import Copies
from tb_debugger_plugin.capture.graph.definitions import define, definition_of, restore
from tb_debugger_plugin.capture.graph.function import Function

_log = logging.getLogger("tb_debugger_plugin")


class FunctionTable:
    """The functions of one recording, from its beginning to `restore()`.

    Attributes:
      all: Every function that was seen, by name.
      watched: The functions whose definition in the runtime has watch ops, by name. Engines change it.
      copies: Copies of functions, under names of their own.
      isolated: Ids of the tensors that get watch ops of their own.
    """

    def __init__(self) -> None:
        self.all: dict[str, Function] = {}
        self.watched: dict[str, Function] = {}
        self.copies = Copies(self.all.get)
        self.isolated: frozenset[int] = frozenset()

    def add(self, functions: Iterable[Function]) -> None:
        """Add functions that are new. Those that XLA does not compile count as watched."""
        functions = list(functions)
        self.all.update((function.name, function) for function in functions)
        self.watched.update((f.name, f) for f in functions if not f.is_compiled)

    def call_unwatched(self, function: Function) -> None:
        """Let a function without watch ops call functions without watch ops."""
        definition = definition_of(function)
        if self.copies.call_unwatched(definition):
            define(function, definition)

    def restore(self) -> None:
        """Give the runtime the program's definitions again."""
        for function in self.all.values():
            try:
                restore(function)
            except Exception as error:  # it keeps watch ops that record nothing
                _log.debug("%s keeps its watch ops", function.name, exc_info=error)
        self.copies.remove()
