"""A session around a session: each call passes through it, and everything else is the session's own.

Takes a ``tf.compat.v1.Session``, or a ``MonitoredSession``. Subclasses say what happens around a call.
"""

from __future__ import annotations

import abc
import contextlib
import logging
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar

from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import session as session_lib
from tensorflow.python.framework import errors, stack
from tensorflow.python.training import monitored_session

from tb_debugger_plugin.capture.tf_types import TfGraph, TfSession
from tb_debugger_plugin.tfdbg.asked import Asked, RunMetadata, RunOptions, feeds_of, of_run
from tb_debugger_plugin.tfdbg.turns import ThreadNames

StepContext: TypeAlias = monitored_session.MonitoredSession.StepContext
T = TypeVar("T")

_log = logging.getLogger("tb_debugger_plugin")
_KNOWN: Final = (
    session_lib.SessionInterface,
    monitored_session.MonitoredSession,
    monitored_session.SingularMonitoredSession,
)
#: Names of debug ops begin so.
_DEBUG_OP: Final = "__dbg_"
_PARTIAL: Final = "The debugger does not watch Session.partial_run; it runs as it would without the debugger."


class WrappedSession(session_lib.SessionInterface, metaclass=abc.ABCMeta):
    """A session that does something around each call; lives as long as the session that it wraps.

    Args:
      sess: The session.
      thread_name_filter: Only calls of threads whose names match this regular expression are debugged.

    Raises:
      TypeError: ``sess`` is no session.
    """

    def __init__(self, sess: TfSession, thread_name_filter: str | None = None) -> None:
        if not isinstance(sess, _KNOWN):
            raise TypeError(
                f"Give a tf.compat.v1.Session or a MonitoredSession, not a {type(sess).__name__}."
            )
        self._sess = sess
        self._threads = ThreadNames(thread_name_filter)
        self._call_lock = threading.Lock()  # guards _run_call_count
        self._run_call_count = 0
        self._defaults = threading.local()

    @abc.abstractmethod
    def _debug(self, call: Asked, number: int) -> object:
        """Run a call and do what the class is for.

        Args:
          call: The call.
          number: Its number, from 1.
        """

    # Calls.

    def run(
        self,
        fetches: object,
        feed_dict: object = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run ops and return tensors, as ``Session.run`` does.

        Args:
          fetches: As for ``Session.run``.
          feed_dict: The same.
          options: The same. It is not changed.
          run_metadata: The same.
        """

        def start(run_options: RunOptions | None, metadata: RunMetadata | None) -> object:
            return self._sess.run(fetches, feed_dict=feed_dict, options=run_options, run_metadata=metadata)

        return self._pass(of_run(Asked("Session.run()", start, options, run_metadata), fetches, feed_dict))

    def make_callable(
        self, fetches: object, feed_list: Iterable[object] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs ops, as ``Session.make_callable`` does.

        Args:
          fetches: As for ``Session.make_callable``.
          feed_list: The same.
          accept_options: The function takes ``options`` and ``run_metadata``, whatever is given here.
        """
        del accept_options
        # With a list of feeds, even an empty one, TensorFlow's function takes options of any kind.
        fed = list(feed_list or ())
        runner = self._sess.make_callable(fetches, feed_list=fed, accept_options=True)

        def run(
            *values: object, options: RunOptions | None = None, run_metadata: RunMetadata | None = None
        ) -> object:
            def start(run_options: RunOptions | None, metadata: RunMetadata | None) -> object:
                return runner(*values, options=run_options, run_metadata=metadata)

            call = Asked("a function of Session.make_callable()", start, options, run_metadata)
            return self._pass(of_run(call, fetches, feeds_of(fed, values)))

        return run

    def _make_callable_from_options(
        self, callable_options: config_pb2.CallableOptions
    ) -> Callable[..., object]:
        plain = self._sess._make_callable_from_options(callable_options)
        wanted = [*callable_options.fetch, *callable_options.target]
        given_options = callable_options.run_options

        def run(*values: object, run_metadata: RunMetadata | None = None) -> object:
            def start(run_options: RunOptions | None, metadata: RunMetadata | None) -> object:
                if run_options is given_options:
                    return plain(*values, run_metadata=metadata)
                changed = config_pb2.CallableOptions()
                changed.CopyFrom(callable_options)
                changed.run_options.CopyFrom(run_options)
                return self._sess._make_callable_from_options(changed)(*values, run_metadata=metadata)

            what = "a function of Session._make_callable_from_options()"
            call = Asked(what, start, given_options, run_metadata)
            return self._pass(of_run(call, wanted, feeds_of(callable_options.feed, values)))

        return run

    def _pass(self, call: Asked) -> object:
        with self._call_lock:
            self._run_call_count += 1
            number = self._run_call_count
        if call.is_empty or not self._threads.include_this():
            return call.run_plainly()
        return self._debug(call, number)

    def run_step_fn(self, step_fn: Callable[[StepContext], T]) -> T:
        """Run a function with a step context, as ``MonitoredSession.run_step_fn`` does."""
        return step_fn(StepContext(self._sess, self.run))

    def partial_run_setup(self, fetches: object, feeds: object = None) -> object:
        """Set up a partial run, which is not debugged: TensorFlow's debugger takes whole runs only."""
        _log.warning(_PARTIAL)
        return self._sess.partial_run_setup(fetches, feeds)

    def partial_run(self, handle: object, fetches: object, feed_dict: object = None) -> Any:
        """Continue a partial run, which is not debugged."""
        return self._sess.partial_run(handle, fetches, feed_dict)

    @property
    def run_call_count(self) -> int:
        """How many calls there were."""
        return self._run_call_count

    # The session's own.

    @property
    def session(self) -> TfSession:
        """The session that is wrapped."""
        session: TfSession = self._sess
        return session

    @property
    def graph(self) -> TfGraph:
        """The graph of the session."""
        graph: TfGraph = self._sess.graph
        return graph

    @property
    def sess_str(self) -> object:
        """TensorFlow's name for where the session runs."""
        name: object = self._sess.sess_str
        return name

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the session."""
        if name == "_sess":
            raise AttributeError(name)  # copying and pickling ask before __init__
        return getattr(self._sess, name)

    def should_stop(self) -> bool:
        """Whether a ``MonitoredSession`` is to stop.

        Raises:
          ValueError: The session is none.
        """
        if not hasattr(self._sess, "should_stop"):
            kind = type(self._sess).__name__
            raise ValueError(f"A {kind} has no method 'should_stop': only a MonitoredSession has one.")
        return bool(self._sess.should_stop())

    def close(self) -> None:
        """Close the session."""
        self._sess.close()

    def as_default(self) -> contextlib.AbstractContextManager[WrappedSession]:
        """Make it the session of ``Tensor.eval`` and ``Operation.run`` inside a ``with`` block."""
        manager: contextlib.AbstractContextManager[WrappedSession] = stack.default_session(self)
        return manager

    def __enter__(self) -> WrappedSession:
        """Make it the default session; blocks may be inside each other."""
        manager = self.as_default()
        entered = manager.__enter__()
        self._managers().append(manager)
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the block; the session stays open, as in TensorFlow's wrappers."""
        self._managers().pop().__exit__(kind, error, trace)

    def _managers(self) -> list[contextlib.AbstractContextManager[WrappedSession]]:
        if not hasattr(self._defaults, "managers"):
            self._defaults.managers = []
        managers: list[contextlib.AbstractContextManager[WrappedSession]] = self._defaults.managers
        return managers


def run_watched(call: Asked, options: RunOptions | None, metadata: RunMetadata | None) -> object:
    """Run a call whose tensors are watched.

    Args:
      call: The call.
      options: Its ``RunOptions``, with watches.
      metadata: Its ``RunMetadata``; None for none.

    Raises:
      OpError: The call failed, or a debug op did.
    """
    try:
        return call.start(options, metadata)
    except ValueError as error:
        # TensorFlow looks for a debug op that failed in the graph of the program, which does not have it.
        cause = error.__context__
        if isinstance(cause, errors.OpError) and _DEBUG_OP in str(cause):
            raise cause from None
        raise


def copied(options: RunOptions | None) -> RunOptions:
    """Return a copy of the ``RunOptions`` of a program; empty ones for None."""
    copy = RunOptions()
    if options is not None:
        copy.CopyFrom(options)
    return copy
