"""TF1-style sessions, `tf.compat.v1.Session`.

While a recording is on, a session that is made runs a copy of its graph with watch ops in it (see
`session_graph`), and does so for its life: what was made for it stays with it, silent when the recording has
ended. In come the sessions; out go the graphs to be watched.
"""

from __future__ import annotations

import logging
import weakref
from typing import Any

from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.client import session

from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded, joined
from tb_debugger_plugin.capture.session_graph import SessionGraph, Watch
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Of so many sessions it is said that they are not recorded.
_MOST_SESSIONS = 10
_log = logging.getLogger("tb_debugger_plugin")


class Sessions:
    """Gives each new session of this process a graph with watch ops, until `remove()`.

    Args:
      watch: Adds the watch ops.
      not_recorded: Takes the sessions that are not recorded.
    """

    def __init__(self, watch: Watch, not_recorded: NotRecorded) -> None:
        self._not_recorded = not_recorded
        self._said_of: weakref.WeakSet[Any] = weakref.WeakSet()
        self._make = make = session.BaseSession.__init__
        self._run = run = session.BaseSession._do_run

        def make_watched(made: Any, *args: Any, **kwargs: Any) -> None:
            make(made, *args, **kwargs)
            try:
                _give_watched_graph(made, watch)
            except Exception as error:  # whatever it is, the program must not see it
                _log.debug("What went wrong:", exc_info=error)
                self._said_of.add(made)
                message = f"The debugger does not record a tf.compat.v1.Session: {user_message(error)}."
                not_recorded.say(Missing(NotRecordedReason.NOT_INSTRUMENTED, message))

        def run_unwatched(made: Any, handle: Any, targets: Any, fetches: Any, *args: Any) -> Any:
            self._say_that_one_is_not_recorded(made, [*fetches, *targets])
            return run(made, handle, targets, fetches, *args)

        self._hooks = make_watched, run_unwatched
        session.BaseSession.__init__, session.BaseSession._do_run = self._hooks

    def remove(self) -> None:
        """Make sessions as TensorFlow does."""
        if (session.BaseSession.__init__, session.BaseSession._do_run) == self._hooks:
            session.BaseSession.__init__, session.BaseSession._do_run = self._make, self._run

    def _say_that_one_is_not_recorded(self, made: Any, runs: list[Any]) -> None:
        if made in self._said_of or len(self._said_of) >= _MOST_SESSIONS:
            return
        self._said_of.add(made)
        reason, why = (
            (NotRecordedReason.NOT_INSTRUMENTED, "runs in another process: record in that one")
            if made._target
            else (
                NotRecordedReason.MADE_BEFORE,
                "was made before the recording: begin to record before you make the session",
            )
        )
        names = [each.name for each in runs]
        self._not_recorded.say(
            Missing(
                reason,
                f"The debugger does not record what a tf.compat.v1.Session runs that {why}. "
                f"This one was asked for {joined(names) or 'nothing'}.",
                tuple(sorted(set(names))),
            )
        )


def _give_watched_graph(made: Any, watch: Watch) -> None:
    if made._target:
        return  # its ops run in another process
    graph = SessionGraph(made._graph, watch)
    made._session, old = _session_of(graph.copy, made), made._session
    c_api.TF_CloseSession(old)
    c_api.TF_DeleteSession(old)
    # The session must be free to go when the program lets it go.
    of_program = weakref.ref(made)

    def extend_graph() -> None:
        graph.extend()
        session.BaseSession._extend_graph(of_program())

    def do_run(handle: Any, targets: list[Any], fetches: list[Any], feeds: Any, *more: Any) -> Any:
        if handle is None:
            graph.extend()
            fed = [tensor.deref() for tensor in feeds]
            targets = [*targets, *graph.watches_of_run(fetches, targets, fed)]
        return _plain_run(of_program(), handle, targets, fetches, feeds, *more)

    def make_callable(fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        # Given any feeds, even none, TensorFlow has it do what `run` does, which asks for watch ops.
        feeds = [] if feed_list is None else feed_list
        return session.BaseSession.make_callable(of_program(), fetches, feeds, accept_options)

    made._extend_graph, made._do_run, made.make_callable = extend_graph, do_run, make_callable


#: Later recordings put a hook of theirs in its place.
_plain_run = session.BaseSession._do_run


def _session_of(graph: Any, like: Any) -> Any:
    options = c_api.TF_NewSessionOptions(target=like._target, config=like._config)
    try:
        with graph._c_graph.get() as c_graph:
            return c_api.TF_NewSessionRef(c_graph, options)
    finally:
        c_api.TF_DeleteSessionOptions(options)
