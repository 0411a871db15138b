"""`tb_debugger_plugin/__init__.py`: the public names, before they are used and without TensorFlow."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import tb_debugger_plugin
import tb_debugger_plugin.keras
import tb_debugger_plugin.tfdbg
from tb_debugger_plugin.cli.main import main
from tests.support.checkout import ROOT

_NEED_NO_TENSORFLOW = [
    *("BrokenRule", "DebugDumpDir", "DebugTensorDatum", "NumericsError", "has_inf_or_nan", "open_run"),
]
_MODULES = [tb_debugger_plugin, tb_debugger_plugin.keras, tb_debugger_plugin.tfdbg]


def _without_tensorflow(program):
    # A module that is None in sys.modules is one that cannot be imported.
    program = f"import sys; sys.modules['tensorflow'] = None\n{program}"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("module", _MODULES, ids=lambda module: module.__name__)
def test_a_module_lists_its_public_names_and_nothing_that_it_only_imports(module):
    shown = [name for name in dir(module) if not name.startswith("_")]
    assert shown == sorted(module.__all__)
    assert "__doc__" in dir(module)


def test_without_tensorflow_the_names_are_there_and_say_what_is_missing_when_they_are_used():
    said = _without_tensorflow(
        "import tb_debugger_plugin as t, tb_debugger_plugin.keras as k, tb_debugger_plugin.tfdbg as d\n"
        "for module in (t, d, k):\n"
        "    for name in module.__all__:\n"
        "        assert hasattr(module, name)\n"
        f"        if name in {_NEED_NO_TENSORFLOW}: continue\n"
        "        try: getattr(module, name)('logdir')\n"
        "        except ImportError as error: print(error)\n"
        "assert not hasattr(t, 'nonsense')\n"
    ).splitlines()
    names = [name for module in _MODULES for name in module.__all__]
    assert len(said) == len([name for name in names if name not in _NEED_NO_TENSORFLOW])
    assert all("TensorFlow is not installed: run `pip install tensorflow`" in line for line in said)
    assert said[-1].startswith("tb_debugger_plugin.keras.DebuggerCallback records")


def test_a_run_is_opened_without_tensorflow(small_run):
    said = _without_tensorflow(
        f"import tb_debugger_plugin\nprint(tb_debugger_plugin.open_run({str(small_run)!r}).why().headline)"
    )
    assert said.startswith("Log in loss")


def test_a_tensorflow_that_is_there_and_cannot_be_imported_is_not_called_missing(tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "raise ImportError('libfoo.so.1: cannot open shared object file')"
    )
    said = _without_tensorflow(
        f"del sys.modules['tensorflow']; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import tb_debugger_plugin\n"
        "try: tb_debugger_plugin.step()\n"
        "except ImportError as error: print(error)\n"
    )
    assert "TensorFlow cannot be imported: libfoo.so.1" in said and "not installed" not in said


def test_help_shows_the_functions_and_classes():
    text = _without_tensorflow(
        "import pydoc, tb_debugger_plugin; print(pydoc.plain(pydoc.render_doc(tb_debugger_plugin)))"
    )
    shown = text.partition("\nCLASSES\n")[2]
    expected = tb_debugger_plugin.__all__
    assert [name for name in expected if not re.search(rf"\n    (class )?{name}\(", shown)] == []
    assert f"\nVERSION\n    {tb_debugger_plugin.__version__}\n" in text


def test_tbdbg_names_the_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"tb-debugger-plugin {tb_debugger_plugin.__version__}\n"


def test_the_version_is_printed_without_the_import_of_a_verb():
    program = """
import sys
from tb_debugger_plugin.cli.main import main
try:
    main(["--version"])
finally:
    assert not {"duckdb", "numpy", "tb_debugger_plugin.cli.reading"} & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("GrpcDebugHook", "TensorBoardDebugHook"),
        ("GrpcDebugWrapperSession", "TensorBoardDebugWrapperSession"),
        ("GradientsDebugger", "gradient_of"),
        ("load_tensor_from_event", "DebugDumpDir"),
        ("load_tensor_from_event_file", "DebugDumpDir"),
    ],
)
def test_names_that_are_no_more_say_what_replaces_them(name, instead):
    with pytest.raises(AttributeError, match=f"There is no tfdbg.{name}: .*{instead}"):
        getattr(tb_debugger_plugin.tfdbg, name)
    assert not hasattr(tb_debugger_plugin.tfdbg, name)
