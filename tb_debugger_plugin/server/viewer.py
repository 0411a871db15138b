"""What the routes ask: the runs of the logdir, and the programs below it that can be stopped."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from tb_debugger_plugin.index.logdir import Logdir
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.live.messages.discovery import is_live_file
from tb_debugger_plugin.live.viewer.programs import Programs


@dataclass(frozen=True)
class Viewer:
    """What a process shows; lives until :meth:`close`.

    Attributes:
      run_library: The runs.
      programs: The programs.
      is_read_only: Whether requests that change programs are refused.
      token: What a request that changes a program must carry. A page of this process knows it, and a page of
        another site cannot.
    """

    run_library: Library
    programs: Programs
    is_read_only: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def close(self) -> None:
        """Stop reading, and leave the programs alone."""
        self.programs.close()
        self.run_library.close()


def open_viewer(logdir: Logdir, *, is_read_only: bool = False) -> Viewer:
    """Returns a viewer of a logdir.

    Args:
      logdir: The folders.
      is_read_only: As in :class:`Viewer`.
    """
    library = Library(logdir, is_mark=is_live_file)
    return Viewer(library, Programs(library), is_read_only)
