"""`capture/hooks/hook.py`: functions of TensorFlow are replaced and put back, and all of them are listed."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

import tb_debugger_plugin
from tb_debugger_plugin.capture.hooks.functions import FunctionCall, FunctionCalls
from tb_debugger_plugin.capture.hooks.hook import CALL_TARGETS, RECORDING_TARGETS, TARGETS, Hook, HookTarget

pytestmark = pytest.mark.tensorflow


class Owner:
    def method(self) -> str:
        return "original"


def new_hook(owner: object, name: str, answer: str) -> Hook:
    return Hook(HookTarget(lambda: owner, name), lambda *_: answer)


def test_a_function_of_a_module_is_replaced_until_the_hook_is_removed() -> None:
    module = types.SimpleNamespace(function=lambda: "original")
    hook = new_hook(module, "function", "replaced")
    assert not hook.is_installed and module.function() == "original"
    hook.install()
    assert hook.is_installed and (module.function(), hook.original()) == ("replaced", "original")
    hook.remove()
    hook.remove()
    assert not hook.is_installed and module.function() == "original"


def test_a_method_of_an_object_is_that_of_its_class_again() -> None:
    owner = Owner()
    hook = new_hook(owner, "method", "replaced")
    hook.install()
    assert owner.method() == "replaced"
    hook.remove()
    assert owner.method() == "original" and not vars(owner)


def test_a_hook_that_another_tool_has_replaced_is_left_alone() -> None:
    owner = Owner()
    hook = new_hook(owner, "method", "replaced")
    hook.install()
    owner.method = other = lambda: "other"  # type: ignore[method-assign]
    hook.remove()
    assert owner.method is other


def test_a_recording_replaces_every_target_and_no_function_twice(tmp_path: Path) -> None:
    before = [target.get() for target in TARGETS]
    with tb_debugger_plugin.record(tmp_path):
        during = [target.get() for target in RECORDING_TARGETS]
        assert all(a != b for a, b in zip(before, during, strict=False))
    assert [target.get() for target in TARGETS] == before
    assert len({(id(target.owner()), target.name) for target in TARGETS}) == len(TARGETS)


def test_the_shell_replaces_its_targets_until_it_is_removed() -> None:
    before = [target.get() for target in TARGETS]
    calls = FunctionCalls(FunctionCall.run)
    assert all(target.get() not in before for target in CALL_TARGETS)
    calls.remove()
    assert [target.get() for target in TARGETS] == before
