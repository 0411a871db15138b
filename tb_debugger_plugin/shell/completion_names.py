"""The names of everything that a word may be, sorted.

Those of a run are sorted once for each of its catalogs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.shell.command import Completes
from tb_debugger_plugin.shell.settings import SETTINGS
from tb_debugger_plugin.shell.shell import Shell


def _commands(shell: Shell) -> Sequence[str]:
    names = (name for one in shell.commands() for name in (one.name, *one.aliases))
    return sorted(name for name in names if name.isidentifier())


def _tensors(shell: Shell) -> Sequence[str]:
    def names(snapshot: Snapshot) -> list[str]:
        ops = snapshot.catalog.ops
        return sorted({f"{ops[site.op].name}:{site.slot}" for site in snapshot.catalog.sites if site.op >= 0})

    return _remembered(shell, "names of tensors", names)


def _nodes(shell: Shell) -> Sequence[str]:
    return _remembered(
        shell, "names of nodes", lambda snapshot: sorted({op.name for op in snapshot.catalog.ops})
    )


def _functions(shell: Shell) -> Sequence[str]:
    return _remembered(
        shell,
        "names of functions",
        lambda snapshot: sorted({graph.name for graph in snapshot.catalog.graphs if graph.name}),
    )


def _remembered(shell: Shell, key: str, make: Callable[[Snapshot], list[str]]) -> Sequence[str]:
    with shell.run.snapshot() as snapshot:
        return snapshot.remember_of_sites(f"completion: {key}", lambda: make(snapshot))


def _feeds(shell: Shell) -> Sequence[str]:
    return sorted(shell.call.feeds) if shell.call is not None else ()


def _sources(shell: Shell) -> Sequence[str]:
    return sorted({source.path for source in shell.run.sources()})


#: Returns the names of each kind.
NAMES: Final[Mapping[Completes, Callable[[Shell], Sequence[str]]]] = {
    Completes.NOTHING: lambda shell: (),
    Completes.COMMAND: _commands,
    Completes.TENSOR: _tensors,
    Completes.NODE: _nodes,
    Completes.FILTER: lambda shell: sorted(shell.filters.names()),
    Completes.FEED: _feeds,
    Completes.SOURCE: _sources,
    Completes.RUN: lambda shell: sorted(run.name for run in shell.found_runs()),
    Completes.FUNCTION: _functions,
    Completes.SETTING: lambda shell: sorted(one.name for one in SETTINGS),
}
