"""`shell/ui/hangup.py`: a terminal that closes while the shell is left."""

from __future__ import annotations

import signal
import threading

import pytest

from tb_debugger_plugin.shell.ui.hangup import TerminalClosed, TerminalStreams, survived_hangup


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread"
)
def test_a_signal_that_comes_after_the_end_of_the_input_changes_nothing(monkeypatch):
    set_handler, replaced = signal.signal, []
    comes = iter([True])

    def interrupted(number, handler):
        if handler is signal.SIG_DFL and next(comes, False):
            raise TerminalClosed
        return set_handler(number, handler)

    monkeypatch.setattr(signal, "signal", interrupted)
    monkeypatch.setattr(TerminalStreams, "replace_closed", lambda streams: replaced.append(streams))
    set_handler(signal.SIGHUP, signal.SIG_DFL)
    with survived_hangup(is_wanted=True):
        pass
    assert len(replaced) == 1 and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
