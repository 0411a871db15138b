"""Records TF1-style sessions, `tf.compat.v1.Session`.

A session that is made during a recording runs a copy of its graph with watch ops (see `session_graph`). It
keeps the copy after the recording; the watch ops then record nothing. A session that was made before can be
adopted: if its variables have values, its own graph gets watch ops. Takes the sessions and passes their
graphs on to be watched, and each of their runs when it has ended.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.client import session
from tensorflow.python.framework import errors, ops

from tb_debugger_plugin.capture.graph.running_session import can_extend, extend
from tb_debugger_plugin.capture.graph.session_graph import (
    NO_WATCHES,
    OfRun,
    RunWatches,
    SessionGraph,
    Watch,
)
from tb_debugger_plugin.capture.hooks.hook import SESSION_INIT, SESSION_RUN, Hook
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded, name_list
from tb_debugger_plugin.capture.tf_types import (
    Array,
    CObject,
    GraphDef,
    TensorRef,
    TfGraph,
    TfOp,
    TfSession,
    TfTensor,
)
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Most sessions that are reported as not recorded.
_MOST_SESSIONS = 10
_log = logging.getLogger("tb_debugger_plugin")


class SessionRan(NamedTuple):
    """A run of a session that has ended.

    Attributes:
      session: The session.
      feeds: Values by reference to the fed tensor.
      fetches: The tensors whose values the program gets.
      targets: The ops that run without being fetched, without watch ops.
      begin: Seconds since the epoch.
      metadata: The buffer of the `RunMetadata` that the program passed; else None.
      error: The exception that the program gets; None when there is none.
      kept: The values of what is fetched besides.
      run: What whoever chose what runs with it knows of the run.
      results: The values that the program gets.
    """

    session: TfSession
    feeds: Mapping[TensorRef, Array]
    fetches: list[TfTensor]
    targets: list[TfOp]
    begin: float
    metadata: CObject | None
    error: BaseException | None
    kept: Sequence[Array | bytes] = ()
    run: object = None
    results: Sequence[Array | bytes] = ()


#: Takes each run, and returns the exception that the program gets: its `error`, or another one.
OnRun: TypeAlias = Callable[[SessionRan], "BaseException | None"]


class SessionCall(NamedTuple):
    """A run of a session that is about to begin.

    Attributes:
      session: The session.
      feeds: Values by reference to the fed tensor.
      fetches: The tensors whose values the program gets.
      targets: The ops that run without being fetched, without watch ops.
      run: Runs it, and returns what the session returns.
    """

    session: TfSession
    feeds: Mapping[TensorRef, Array]
    fetches: list[TfTensor]
    targets: list[TfOp]
    run: Callable[[], object]


#: Runs the call that it gets, and returns what it returns.
AroundRun: TypeAlias = Callable[[SessionCall], object]


class SessionRunHooks(NamedTuple):
    """What sees the runs of sessions.

    Attributes:
      after: Takes each run that has ended.
      around: Returns what runs each run, which includes `after`; None for nothing.
      closing: Takes each session that the program is about to close.
      unseen: Takes each session before and after a run that is not passed on.
    """

    after: OnRun
    around: Callable[[], AroundRun | None]
    closing: Callable[[TfSession], None]
    unseen: Callable[[TfSession], None]


class Sessions:
    """Gives each new session of this process a graph with watch ops, until `remove()`.

    Args:
      watch: Adds the watch ops.
      not_recorded: Registers the sessions that are not recorded.
      runs: See each run of a session, also of one that is not watched.
      of_run: Chooses what runs with a run of a new session, see `SessionGraph`.
    """

    def __init__(
        self, watch: Watch, not_recorded: NotRecorded, runs: SessionRunHooks, of_run: OfRun | None = None
    ) -> None:
        self._not_recorded = not_recorded
        self._reported: weakref.WeakSet[TfSession] = weakref.WeakSet()
        self._running: weakref.WeakSet[TfSession] = weakref.WeakSet()

        def watch_new(made: TfSession) -> None:
            try:
                _give_watched_graph(made, watch, runs, of_run)
            except Exception as error:  # the program must not see any error
                self._report_failure(made, error)

        def watch_running(made: TfSession) -> None:
            _watch_running(made, watch, runs, functools.partial(self._report_failure, made))
            self._running.add(made)

        def make_watched(made: TfSession, *args: object, **kwargs: object) -> None:
            self._init.original(made, *args, **kwargs)
            watch_new(made)

        def run_unwatched(
            made: TfSession,
            handle: object,
            targets: list[TfOp],
            fetches: list[TfTensor],
            feeds: Mapping[TensorRef, Array],
            *more: object,
        ) -> object:
            self._report_unwatched(made, [*fetches, *targets])
            return _run(runs, self._run.original, made, handle, targets, NO_WATCHES, fetches, feeds, *more)

        self._watch_new, self._watch_running = watch_new, watch_running
        self._init = Hook(SESSION_INIT, make_watched)
        self._run = Hook(SESSION_RUN, run_unwatched)
        self._init.install()
        self._run.install()

    def adopt(self, made: session.BaseSession) -> None:
        """Give a session that was made before a graph with watch ops; its own, if values would be lost.

        Args:
          made: The session. One that has watch ops, or is none of TensorFlow's own, stays as it is.
        """
        is_plain = isinstance(made, session.BaseSession) and "_do_run" not in vars(made)
        if not is_plain or made._closed or made._target:
            return
        if not self._has_values(made):
            self._watch_new(made)
        elif can_extend():
            self._watch_running(made)

    def _has_values(self, made: session.BaseSession) -> bool:
        """Whether a variable of a session has a value, which another graph would lose."""
        made._do_run = functools.partial(self._run.original, made)  # these runs are not the program's
        try:
            variables = made.graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
            return any(_has_value(made, variable) for variable in variables)
        finally:
            del made._do_run

    def remove(self) -> None:
        """Restore TensorFlow's own methods."""
        self._init.remove()
        self._run.remove()
        for made in self._running:  # their watch ops stay, and do not run
            del made._do_run, made.make_callable, made.close, made._make_callable_from_options

    def _report_failure(self, made: TfSession, error: Exception) -> None:
        _log.debug("A session cannot be watched:", exc_info=error)
        if made not in self._reported:
            self._reported.add(made)
            message = f"The debugger does not record a tf.compat.v1.Session: {user_message(error)}."
            self._not_recorded.report(Missing(NotRecordedReason.NOT_INSTRUMENTED, message))

    def _report_unwatched(self, made: TfSession, requested: list[TfOp | TfTensor]) -> None:
        if made in self._reported or len(self._reported) >= _MOST_SESSIONS:
            return
        self._reported.add(made)
        reason, why = (
            (NotRecordedReason.NOT_INSTRUMENTED, "runs in another process: record in that process")
            if made._target
            else (
                NotRecordedReason.MADE_BEFORE,
                "was made before the recording: begin to record before you make the session",
            )
        )
        names = [target.name for target in requested]
        self._not_recorded.report(
            Missing(
                reason,
                f"The debugger does not record a tf.compat.v1.Session that {why}. "
                f"This session ran {name_list(names) or 'nothing'}.",
                tuple(sorted(set(names))),
            )
        )


def _run(
    runs: SessionRunHooks,
    original: Callable[..., list[Array | bytes]],
    made: TfSession,
    handle: object,
    targets: list[TfOp],
    watches: RunWatches,
    fetches: list[TfTensor],
    feeds: Mapping[TensorRef, Array],
    options: CObject | None = None,
    metadata: CObject | None = None,
) -> object:
    """Run a session by TensorFlow's own `_do_run`, with the watch ops, and pass the run on."""
    all_targets = [*targets, *watches.during] if watches.during else targets
    all_fetches = [*fetches, *watches.kept] if watches.kept else fetches

    def run() -> object:
        begin = time.time()
        if watches.before:
            with contextlib.suppress(errors.OpError):  # the program's run fails for the same reason
                original(made, None, watches.before, [], {}, None, None)
        try:
            result = original(made, handle, all_targets, all_fetches, feeds, options, metadata)
        except BaseException as error:
            other = runs.after(SessionRan(made, feeds, fetches, targets, begin, None, error, (), watches.run))
            if other is None or other is error:
                raise
            raise other from None
        kept: Sequence[Array | bytes] = ()
        if watches.kept:
            result, kept = result[: len(fetches)], result[len(fetches) :]
        ran = SessionRan(made, feeds, fetches, targets, begin, metadata, None, kept, watches.run, result)
        runs.after(ran)
        return result

    around = runs.around()
    return run() if around is None else around(SessionCall(made, feeds, fetches, targets, run))


def run_metadata(ran: SessionRan) -> bytes:
    """Return the encoded `RunMetadata` of a run; empty when the program did not ask for it."""
    return b"" if ran.metadata is None else bytes(c_api.TF_GetBuffer(ran.metadata))


def _has_value(made: session.BaseSession, variable: object) -> bool:
    read = getattr(variable, "_graph_element", None)
    try:
        made.run(variable if read is None else read)
    except errors.FailedPreconditionError:
        return False
    return True


def _give_watched_graph(made: TfSession, watch: Watch, runs: SessionRunHooks, of_run: OfRun | None) -> None:
    if made._target:
        return  # its ops run in another process
    graph = SessionGraph(made._graph, watch, of_run=of_run)
    made._session, old = _session_of(graph.copy, made), made._session
    _delete(old)
    # A weak reference, so that the session is deleted when the program drops it.
    session_ref = weakref.ref(made)

    def extend_graph() -> None:
        graph.extend()
        session.BaseSession._extend_graph(session_ref())

    made._extend_graph = extend_graph
    _run_watches(made, graph, graph.extend, runs)


def _watch_running(
    made: TfSession, watch: Watch, runs: SessionRunHooks, report: Callable[[Exception], None]
) -> None:
    """Extend the graph of a session that has run, before each run that needs it."""
    session_ref = weakref.ref(made)

    def extend_session(added: GraphDef) -> None:
        running = session_ref()
        assert running is not None, "its own method runs"
        # The watch ops take tensors of ops that it may not have yet.
        session.BaseSession._extend_graph(running)
        extend(running._session, added)

    graph = SessionGraph(made._graph, watch, extend_session)

    def extend_graph() -> None:
        try:
            graph.extend()
        except Exception as error:  # the program must not see any error
            report(error)

    _run_watches(made, graph, extend_graph, runs)


def _run_watches(
    made: TfSession, graph: SessionGraph, extend_graph: Callable[[], None], runs: SessionRunHooks
) -> None:
    """Let each run of a session run the watch ops of what it needs."""
    session_ref = weakref.ref(made)

    def do_run(
        handle: object,
        targets: list[TfOp],
        fetches: list[TfTensor],
        feeds: Mapping[TensorRef, Array],
        *more: object,
    ) -> object:
        watches = NO_WATCHES
        if handle is None:
            extend_graph()
            fed = [tensor.deref() for tensor in feeds]
            watches = graph.watches_of_run(fetches, targets, fed)
        running = session_ref()
        assert running is not None, "its own method runs"
        return _run(runs, _plain_run, running, handle, targets, watches, fetches, feeds, *more)

    def make_callable(fetches: object, feed_list: object = None, accept_options: bool = False) -> object:
        # With a list of feeds, even an empty one, TensorFlow does the same as in `run`, which adds watch ops.
        feeds = [] if feed_list is None else feed_list
        return session.BaseSession.make_callable(session_ref(), fetches, feeds, accept_options)

    def make_from_options(*given: object) -> Callable[..., object]:
        call = session.BaseSession._make_callable_from_options(session_ref(), *given)

        def call_unseen(*args: object, **kwargs: object) -> object:
            for_session = session_ref()
            if for_session is not None:
                runs.unseen(for_session)
            try:
                return call(*args, **kwargs)
            finally:
                if for_session is not None:
                    runs.unseen(for_session)

        return call_unseen

    def close() -> None:
        closing = session_ref()
        if closing is not None:  # else it is being deleted
            runs.closing(closing)
            type(closing).close(closing)

    made._do_run, made.make_callable, made.close = do_run, make_callable, close
    made._make_callable_from_options = make_from_options


#: TensorFlow's own method, kept here because later recordings replace it by a hook.
_plain_run = session.BaseSession._do_run


def _delete(runtime: CObject) -> None:
    c_api.TF_CloseSession(runtime)
    c_api.TF_DeleteSession(runtime)


@contextlib.contextmanager
def session_for(graph: TfGraph, like: TfSession) -> Iterator[CObject]:
    """Give a session of the runtime for a graph, with the options of another session, which no hook sees."""
    made = _session_of(graph, like)
    try:
        c_api.ExtendSession(made)
        yield made
    finally:
        _delete(made)


def run_in(
    made: CObject,
    feeds: Mapping[TfTensor, Array | bytes],
    fetches: Sequence[TfTensor],
    targets: Sequence[TfOp],
) -> list[Array]:
    """Run ops in a session of the runtime, if there are any; return the values of the fetches.

    Raises:
      tf.errors.OpError: An op fails.
    """
    if not fetches and not targets:
        return []
    given = {tensor._as_tf_output(): value for tensor, value in feeds.items()}
    wanted = [tensor._as_tf_output() for tensor in fetches]
    return list(c_api.TF_SessionRun_wrapper(made, None, given, wanted, [op._c_op for op in targets], None))


def _session_of(graph: TfGraph, like: TfSession) -> CObject:
    options = c_api.TF_NewSessionOptions(target=like._target, config=like._config)
    try:
        with graph._c_graph.get() as c_graph:
            return c_api.TF_NewSessionRef(c_graph, options)
    finally:
        c_api.TF_DeleteSessionOptions(options)
