"""Asks alert rules of a recording from a thread, again and again, while the program runs.

Takes rules, and hands over what has broken one, for the thread of the program to act on.

Invariants: between two questions the thread rests so long that it takes a small share of the time. No failure
reaches the program: the first one is logged, and the questions end.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from tb_debugger_plugin.capture.alarm import Broken
from tb_debugger_plugin.capture.own_recording import Rules
from tb_debugger_plugin.errors import NotReadyError, user_message

#: Seconds that the thread rests at least.
REST_S: Final = 2.0
#: How many times as long as a question the thread rests after it.
RESTS: Final = 20
#: Seconds that it rests at most because of what had to be read: that is the same, whenever it is done.
_LONGEST_REST_S: Final = 60.0
#: Seconds that one question may read files, and the last one.
_READ_S: Final = 60.0
#: Seconds that the end of a recording waits for a question that it has interrupted.
_PATIENCE_S: Final = 5.0
_log = logging.getLogger("tb_debugger_plugin")
#: Those of the parents of a forked process. Their databases are kept, since their threads are gone.
_abandoned: list[RuleWatch] = []


class RuleWatch:
    """The thread of one recording, from the constructor to `finish()` or `end()`.

    Args:
      open_rules: Opens the rules; called in the thread.
      at_broken: Called by the thread when something waits to be taken.
      dump_root: The folder of the recording.
    """

    def __init__(
        self, open_rules: Callable[[], Rules], at_broken: Callable[[], None], dump_root: str
    ) -> None:
        self._open_rules = open_rules
        self._at_broken = at_broken
        self._dump_root = dump_root
        self._ends = threading.Event()
        self._asks_last = False
        self._rules: Rules | None = None
        self._waiting: deque[Broken] = deque()  # its methods are atomic
        self._thread = threading.Thread(target=self._work, name="tb-debugger-rules", daemon=True)
        self._thread.start()

    def take(self) -> Broken | None:
        """Return what has broken a rule, once, the most urgent first; None if nothing waits."""
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def finish(self) -> None:
        """Ask once more, of all that was recorded, and end. What is found waits to be taken."""
        self._asks_last = True
        self._ends.set()
        self._thread.join()

    def end(self) -> None:
        """End without a last question. A question that is being answered is interrupted."""
        self._ends.set()
        if threading.current_thread() is not self._thread:
            self._close()
            self._thread.join(_PATIENCE_S)

    def abandon(self) -> None:
        """Let go in a forked child, where the thread does not run."""
        _abandoned.append(self)
        self._waiting.clear()

    def _work(self) -> None:
        try:
            self._rules = self._open_rules()
            rest = REST_S
            if not self._ends.wait(rest):
                self._rules.read(_READ_S)  # makes the tables, which says nothing of how long a question takes
            while not self._ends.wait(rest):
                rest = self._look(self._rules)
            if self._asks_last:
                self._look_last(self._rules)
        except Exception as error:  # the program must not see any error
            self._report(error)
        finally:
            self._close()

    def _look(self, rules: Rules) -> float:
        """Ask once; return the seconds to rest after it."""
        begin = time.monotonic()
        is_read = rules.read(_READ_S)
        read = time.monotonic()
        if is_read:
            self._ask(rules)
        asked = time.monotonic()
        return max(REST_S, RESTS * (asked - read), min(RESTS * (read - begin), _LONGEST_REST_S))

    def _ask(self, rules: Rules) -> None:
        try:
            broken = rules.ask()
        except NotReadyError as error:  # there are no records yet
            _log.debug("The alert rules cannot be asked yet: %s", error)
            return
        self._waiting.extend(broken)
        if broken:
            self._at_broken()

    def _look_last(self, rules: Rules) -> None:
        if not rules.read(_READ_S):
            _log.warning("The alert rules were not asked of the end of the recording to %s.", self._dump_root)
        self._ask(rules)
        for sentence in rules.unanswered():
            _log.warning("An alert rule was not asked of the recording to %s. %s", self._dump_root, sentence)

    def _report(self, error: Exception) -> None:
        if self._ends.is_set() and not self._asks_last:
            return  # it was interrupted
        _log.debug("The alert rules failed:", exc_info=error)
        _log.warning(
            "The alert rules of the recording to %s are not asked any more: %s. The program and the "
            "recording go on.",
            self._dump_root,
            user_message(error).rstrip("."),
        )

    def _close(self) -> None:
        rules = self._rules
        try:
            if rules is not None:
                rules.close()
        except Exception as error:  # the program must not see any error
            _log.debug("The tables of the alert rules cannot be closed:", exc_info=error)
