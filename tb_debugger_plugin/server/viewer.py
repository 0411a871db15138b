"""What the routes ask: the runs of the logdir, and the programs below it that can be stopped."""

from __future__ import annotations

from dataclasses import dataclass, field

from tb_debugger_plugin.analysis.verdict import KeptVerdicts
from tb_debugger_plugin.index.logdir import Logdir
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.live.messages.discovery import is_live_file
from tb_debugger_plugin.live.viewer.programs import Programs
from tb_debugger_plugin.server.judge import Judge


@dataclass(frozen=True)
class Access:
    """Who may read, and who may change programs.

    Attributes:
      key: What a request that changes something must carry. No answer has it.
      read_only: Why nobody may change anything, in a sentence; empty if who has the key may.
      bound_host: The host that TensorBoard was told to listen at; empty for this machine only.
    """

    key: str = field(repr=False)
    read_only: str = ""
    bound_host: str = ""


@dataclass(frozen=True)
class Viewer:
    """What a process shows; lives until :meth:`close`.

    Attributes:
      run_library: The runs.
      programs: The programs.
      access: Who may read, and who may change programs.
      kept_verdicts: The verdicts on runs that nobody has open.
      judge: Judges runs that nobody has opened.
    """

    run_library: Library
    programs: Programs
    access: Access
    kept_verdicts: KeptVerdicts
    judge: Judge

    def close(self) -> None:
        """Stop judging and reading, and leave the programs alone."""
        self.judge.close()
        self.programs.close()
        self.run_library.close()


def open_viewer(logdir: Logdir, access: Access) -> Viewer:
    """Return a viewer of a logdir.

    Args:
      logdir: The folders.
      access: As in :class:`Viewer`.
    """
    kept = KeptVerdicts()
    judge = Judge(kept)
    library = Library(logdir, is_mark=is_live_file, make_way=judge.make_way)
    return Viewer(library, Programs(library), access, kept, judge)
