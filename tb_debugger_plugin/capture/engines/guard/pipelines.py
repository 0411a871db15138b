"""Guards the functions of input pipelines (`tf.data`), in their own definitions.

Threads of TensorFlow run them, and a data set keeps the definition with which it was made, so there is no
call to redirect: a function is guarded when it is made. Bad calls are only noted. They are replayed when a
call of the program goes bad, before that call, so that the recording says where a bad batch comes from; what
a pipeline leaves out is nobody's trouble.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Final

from tb_debugger_plugin.capture.engines.guard.copies import Guarded, GuardedCopies
from tb_debugger_plugin.capture.graph.definitions import restore
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.events.tensorflow_names import is_of_pipeline
from tb_debugger_plugin.native.structs import BadCall

#: Bad calls of a function that are noted, the latest ones: a batch has elements from before.
_MOST_NOTED: Final = 8


class GuardedPipelines:
    """The functions of input pipelines that are guarded, for one recording. Thread-safe.

    Args:
      copies: Defines what is guarded.
      module: The native library.
    """

    def __init__(self, copies: GuardedCopies, module: ModuleType) -> None:
        self._copies = copies
        self._module = module
        self._lock = threading.Lock()  # guards the fields below
        self._guarded: dict[int, Guarded] = {}
        self._noted: dict[int, deque[BadCall]] = {}
        self._replayed: set[tuple[int, frozenset[int]]] = set()

    def guard(self, functions: Iterable[Function]) -> None:
        """Guard the functions of input pipelines among new functions.

        Raises:
          Exception: TensorFlow refuses a definition; the function has its own.
        """
        with self._lock:
            deleted = [site for site, one in self._guarded.items() if one.taken.function.graph_of() is None]
            for site in deleted:
                del self._guarded[site]
                for call in self._noted.pop(site):
                    self._module.release_bad_call(call.number)
        for function in functions:
            graph = function.graph_of()
            if graph is not None and is_of_pipeline(graph.name) and not function.is_compiled:
                guarded = self._copies.guard(function, in_place=True)
                if guarded is not None:
                    with self._lock:
                        self._guarded[guarded.site] = guarded
                        self._noted[guarded.site] = deque()

    def note(self) -> None:
        """Note the calls that went bad."""
        with self._lock:
            for site, noted in self._noted.items():
                while (call := self._module.take_bad_call(site)) is not None:
                    if not self._is_news(call):
                        self._module.release_bad_call(call.number)
                        continue
                    noted.append(call)
                    if len(noted) > _MOST_NOTED:
                        self._module.release_bad_call(noted.popleft().number)

    def take(self) -> Iterator[tuple[Guarded, BadCall]]:
        """Yield the noted calls whose like was not replayed before, and release each afterwards."""
        self.note()
        while (call := self._next()) is not None:
            try:
                yield self._guarded[call.site], call
            finally:
                self._module.release_bad_call(call.number)

    def _next(self) -> BadCall | None:
        with self._lock:
            for noted in self._noted.values():
                while noted:
                    call = noted.popleft()
                    if self._is_news(call):
                        self._replayed.add((call.site, self._bad_results(call)))
                        return call
                    self._module.release_bad_call(call.number)
        return None

    def _is_news(self, call: BadCall) -> bool:
        """Whether a call can be replayed, and none with the same bad results was."""
        can_replay = call.is_held and not self._guarded[call.site].taken.cannot_repeat
        return can_replay and (call.site, self._bad_results(call)) not in self._replayed

    def _bad_results(self, call: BadCall) -> frozenset[int]:
        guarded = self._guarded[call.site]
        return frozenset([number for number in call.bad if not guarded.is_held(number)])

    def restore(self) -> None:
        """Give the functions their own definitions again."""
        with self._lock:
            for guarded in self._guarded.values():
                restore(guarded.taken.function)
