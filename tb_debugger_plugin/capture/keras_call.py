"""A Keras callback that begins something with a call of `fit`, `evaluate` or `predict`, and ends it then.

Invariant: what has begun ends with the call, and not with the validation inside a `fit`. Keras calls no
method when a call raises: what was begun then ends at the next call, or by itself when it sees that the call
is over.
"""

from __future__ import annotations

import abc
from typing import TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.stacks import calls

#: The numbers that Keras reports. The callback does not read them.
Logs: TypeAlias = "dict[str, object] | None"


class KerasCall(tf.keras.callbacks.Callback, metaclass=abc.ABCMeta):  # type: ignore[misc, unused-ignore]
    """Begins and ends something with each outermost call of a model, and marks the ends of its steps."""

    def __init__(self) -> None:
        super().__init__()
        self._supports_tf_logs = True  # the callback does not read the logs, so Keras 2 need not fetch them
        self._call: calls.RunningCall | None = None
        self._depth = 0  # validation begins and ends inside a `fit`

    @abc.abstractmethod
    def _begin(self, call: calls.RunningCall | None) -> None:
        """Begin with a call.

        Args:
          call: The call; None if Keras does not run it as it usually does.
        """

    @abc.abstractmethod
    def _end(self) -> None:
        """End what has begun; does nothing if nothing has."""

    def _implements_train_batch_hooks(self) -> bool:
        """Whether Keras 2 calls the batch methods. Keras 2 also reads this when the class is from Keras 3."""
        return True

    _implements_test_batch_hooks = _implements_predict_batch_hooks = _implements_train_batch_hooks

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin; what an earlier `fit` left on ends."""
        self._enter(anew=True)

    def on_test_begin(self, logs: Logs = None) -> None:
        """Begin, unless this is the validation of a `fit`."""
        self._enter()

    on_predict_begin = on_test_begin

    def on_train_end(self, logs: Logs = None) -> None:
        """End, unless this is the end of the validation of a `fit`."""
        self._leave()

    on_test_end = on_predict_end = on_train_end

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Mark the end of a step."""
        api.step()

    on_test_batch_end = on_predict_batch_end = on_train_batch_end

    def _enter(self, *, anew: bool = False) -> None:
        if anew or (self._call is not None and not self._call.is_running()):
            self._end_call()
        self._depth += 1
        if self._depth == 1:
            self._call = calls.keras_call()
            self._begin(self._call)

    def _leave(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._end_call()

    def _end_call(self) -> None:
        self._end()
        self._call, self._depth = None, 0
