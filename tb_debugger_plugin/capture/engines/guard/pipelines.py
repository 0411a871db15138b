"""Guards the functions of input pipelines (`tf.data`), in their own definitions.

Threads of TensorFlow run them, and a data set keeps the definition with which it was made, so there is no
call to redirect: a function is guarded when it is made. The last few bad calls of each stay in the native
library. They are replayed when a call of the program goes bad, before that call, so that the recording says
where a bad batch comes from; what a pipeline leaves out is nobody's trouble.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from types import ModuleType

from tb_debugger_plugin.capture.engines.guard.copies import Guarded, GuardedCopies
from tb_debugger_plugin.capture.graph.definitions import restore
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.hooks.original_definitions import OriginalDefinitions
from tb_debugger_plugin.events.tensorflow_names import is_of_pipeline
from tb_debugger_plugin.native.structs import BadCall

_log = logging.getLogger("tb_debugger_plugin")


class GuardedPipelines:
    """The functions of input pipelines that are guarded, for one recording. Thread-safe.

    Args:
      copies: Defines what is guarded.
      module: The native library.
    """

    def __init__(self, copies: GuardedCopies, module: ModuleType) -> None:
        self._copies = copies
        self._module = module
        # What is saved has the program's own definitions.
        self._originals = OriginalDefinitions(lambda name: name)
        self._lock = threading.Lock()  # guards the fields below
        self._guarded: dict[int, Guarded] = {}
        self._replayed: set[tuple[int, frozenset[int]]] = set()

    @staticmethod
    def chosen(functions: Iterable[Function]) -> list[Function]:
        """Return the functions of input pipelines."""
        return [
            function
            for function in functions
            if (graph := function.graph_of()) is not None
            and is_of_pipeline(graph.name)
            and not function.is_compiled
        ]

    def guard(self, functions: Iterable[Function]) -> None:
        """Guard functions of input pipelines.

        Raises:
          Exception: TensorFlow refuses a definition; the function has its own.
        """
        self._close_deleted()
        for function in functions:
            self._originals.keep(function)
            guarded = self._copies.guard(function, in_place=True)
            if guarded is not None:
                with self._lock:
                    self._guarded[guarded.site] = guarded

    def _close_deleted(self) -> None:
        with self._lock:
            for site, guarded in list(self._guarded.items()):
                if guarded.taken.function.graph_of() is None:
                    del self._guarded[site]
                    self._module.close_guard_site(site)

    def take(self) -> Iterator[tuple[Guarded, BadCall]]:
        """Yield the bad calls whose like was not replayed before, and release each afterwards."""
        self._close_deleted()
        with self._lock:
            guarded = dict(self._guarded)
        for site, each in guarded.items():
            while (call := self._module.take_bad_call(site)) is not None:
                try:
                    if self._is_news(each, call):
                        yield each, call
                finally:
                    self._module.release_bad_call(call.number)

    def _is_news(self, guarded: Guarded, call: BadCall) -> bool:
        """Whether no call with the same bad results was replayed."""
        bad = call.site, frozenset([number for number in call.bad if not guarded.is_held(number)])
        with self._lock:
            is_news = bad not in self._replayed
            self._replayed.add(bad)
        return is_news

    def remove_hooks(self) -> None:
        """Show Python the runtime's definitions again."""
        self._originals.remove()

    def restore(self) -> None:
        """Give the functions their own definitions again."""
        with self._lock:
            guarded = list(self._guarded.values())
        for each in guarded:
            try:
                restore(each.taken.function)
            except Exception as error:  # it keeps a guard that does nothing
                _log.debug("%s keeps its guard", each.taken.function.name, exc_info=error)
