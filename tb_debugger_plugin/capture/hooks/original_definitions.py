"""Shows Python the program's definitions of functions while the runtime has others.

Invariant: code that copies, exports or converts a function of the program gets the program's definition.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.eager import context
from tensorflow.python.framework import c_api_util

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.hooks.hook import (
    ADD_DEFINITION,
    GET_COMPILER_IR,
    GET_DEFINITION,
    GET_HANDLE,
    Hook,
)
from tb_debugger_plugin.capture.tf_types import CObjectOwner, FunctionDef


class OriginalDefinitions:
    """Hooks of the runtime that return the program's definitions, from the constructor to `remove()`.

    Python reads a definition from the runtime when a graph that calls a function copies it, when a model is
    exported or converted, and when the program requests XLA's code for it. None of these may have watch ops.

    Args:
      plain_name: Takes the name of a function; returns the name under which the runtime has the program's
        definition.
    """

    def __init__(self, plain_name: Callable[[str], str]) -> None:
        self._runtime = context.context()
        self._plain_name = plain_name
        self._handles: dict[bytes, CObjectOwner] = {}
        self._hooks = (
            get_handle := Hook(GET_HANDLE, self._handle),
            get_definition := Hook(GET_DEFINITION, self._definition),
            get_compiler_ir := Hook(GET_COMPILER_IR, self._compiler_ir),
            add_definition := Hook(ADD_DEFINITION, self._add),
        )
        self._get_handle = get_handle.original
        self._get_definition = get_definition.original
        self._get_compiler_ir = get_compiler_ir.original
        self._add_definition = add_definition.original
        for hook in self._hooks:
            hook.install()

    def keep(self, function: Function) -> None:
        """Keep showing the current definition of a function when it gets another one."""
        name = function.name.encode()
        self._handles[name] = self._get_handle(name)
        if len(self._handles) % _FORGET_EVERY == 0:
            self._forget_deleted()

    def remove(self) -> None:
        """Show Python the runtime's definitions again."""
        for hook in self._hooks:
            hook.remove()
        self._handles.clear()

    def _handle(self, name: str | bytes) -> CObjectOwner:
        return self._handles.get(_bytes(name)) or self._get_handle(name)

    def _definition(self, name: str | bytes) -> FunctionDef:
        kept = self._handles.get(_bytes(name))
        if kept is None:
            return self._get_definition(name)
        with c_api_util.tf_buffer() as buffer, kept.get() as function:
            c_api.TF_FunctionToFunctionDef(function, buffer)
            return FunctionDef.FromString(c_api.TF_GetBuffer(buffer))

    def _add(self, definition: FunctionDef) -> None:
        """Add a new definition, or a definition of the program a second time.

        TensorFlow counts how often a definition was added, and refuses a different one of the same name. So
        the runtime's definition is added instead of the program's.
        """
        name = definition.signature.name.encode()
        if name in self._handles and self._runtime.has_function(name):
            if self._definition(name) == definition:
                definition = self._get_definition(name)
        self._add_definition(definition)

    def _compiler_ir(
        self,
        device_name: object,
        platform_name: object,
        function_name: str | bytes,
        *args: object,
        **kwargs: object,
    ) -> object:
        plain = self._plain_name(_bytes(function_name).decode())
        return self._get_compiler_ir(device_name, platform_name, plain, *args, **kwargs)

    def _forget_deleted(self) -> None:
        for name in list(self._handles):
            if not self._runtime.has_function(name):
                del self._handles[name]


_FORGET_EVERY = 256


def _bytes(name: str | bytes) -> bytes:
    return name.encode() if isinstance(name, str) else name
