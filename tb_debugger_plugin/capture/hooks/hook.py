"""Replaces functions of TensorFlow while a recording is on, and puts them back.

:data:`TARGETS` lists every function that the recorder replaces. `docs/architecture.md` says why.

Invariant: after `remove()` TensorFlow has its own function again, unless another tool has replaced it since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from tensorflow.python import pywrap_tfe
from tensorflow.python.client import session
from tensorflow.python.eager import context, execute, imperative_grad
from tensorflow.python.eager.polymorphic_function import (
    atomic_function,
    concrete_function,
    polymorphic_function,
)
from tensorflow.python.ops import gradients_util

from tb_debugger_plugin.capture.stacks.frames import HOOKS

_Function = TypeVar("_Function", bound=Callable[..., object])


class HookTarget(NamedTuple):
    """A function of TensorFlow that a hook may replace.

    Attributes:
      owner: Returns the module, class or object that has the function.
      name: Name of the function in its owner.
    """

    owner: Callable[[], object]
    name: str

    def get(self) -> Callable[..., Any]:
        """Return the function that TensorFlow uses now."""
        function: Callable[..., object] = getattr(self.owner(), self.name)
        return function


FROM_FUNC_GRAPH: Final = HookTarget(lambda: atomic_function, "from_func_graph")
FAST_PATH: Final = HookTarget(lambda: pywrap_tfe, "TFE_Py_FastPathExecute")
EXECUTE: Final = HookTarget(lambda: execute, "execute")
SESSION_INIT: Final = HookTarget(lambda: session.BaseSession, "__init__")
SESSION_RUN: Final = HookTarget(lambda: session.BaseSession, "_do_run")
TAPE_GRADIENTS: Final = HookTarget(lambda: imperative_grad, "imperative_grad")
GRAPH_GRADIENTS: Final = HookTarget(lambda: gradients_util, "_GradientsHelper")
GET_HANDLE: Final = HookTarget(context.context, "get_c_function")
GET_DEFINITION: Final = HookTarget(context.context, "get_function_def")
ADD_DEFINITION: Final = HookTarget(context.context, "add_function_def")
GET_COMPILER_IR: Final = HookTarget(context.context, "get_compiler_ir")
CALL_IN_RUNTIME: Final = HookTarget(context.context, "call_function")
CALL_FUNCTION: Final = HookTarget(lambda: polymorphic_function.Function, "__call__")
CALL_CONCRETE: Final = HookTarget(lambda: concrete_function.ConcreteFunction, "__call__")

#: What a recording replaces.
RECORDING_TARGETS: Final = (
    FROM_FUNC_GRAPH,
    FAST_PATH,
    EXECUTE,
    SESSION_INIT,
    SESSION_RUN,
    TAPE_GRADIENTS,
    GRAPH_GRADIENTS,
    GET_HANDLE,
    GET_DEFINITION,
    ADD_DEFINITION,
    GET_COMPILER_IR,
)
#: What a recording in GUARD replaces besides.
GUARD_TARGETS: Final = (CALL_IN_RUNTIME,)
#: What the shell around functions, and breakpoints, replace besides.
CALL_TARGETS: Final = (CALL_FUNCTION, CALL_CONCRETE)
TARGETS: Final = (*RECORDING_TARGETS, *GUARD_TARGETS, *CALL_TARGETS)


def hidden(function: _Function) -> _Function:
    """Give a function a file name of TensorFlow, so that TensorFlow leaves it out of error messages.

    Args:
      function: A function of ours that is on the stack while TensorFlow makes ops for the program.
    """
    function.__code__ = function.__code__.replace(co_filename=HOOKS)
    return function


class Hook:
    """A replacement of one function, from `install()` to `remove()`.

    Use::

        hook = Hook(SESSION_RUN, run)  # `run` calls hook.original
        hook.install()
        ...
        hook.remove()

    Args:
      target: The function.
      replacement: Called in its place, also by other threads as soon as it is installed.

    Attributes:
      original: The function that TensorFlow used before.
    """

    def __init__(self, target: HookTarget, replacement: Callable[..., object]) -> None:
        self._owner = target.owner()
        self._name = target.name
        self._replacement = replacement
        self.original = target.get()
        # The methods of an object are attributes of its class: there, the hook's attribute is deleted again.
        self._was_own = target.name in vars(self._owner)

    def install(self) -> None:
        """Let TensorFlow use the replacement."""
        setattr(self._owner, self._name, self._replacement)

    @property
    def is_installed(self) -> bool:
        """Whether TensorFlow still uses the replacement."""
        return bool(getattr(self._owner, self._name) == self._replacement)

    def remove(self) -> None:
        """Put the original back, unless another tool has replaced the hook."""
        if not self.is_installed:
            return
        if self._was_own:
            setattr(self._owner, self._name, self.original)
        else:
            delattr(self._owner, self._name)
