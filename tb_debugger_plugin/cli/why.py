"""`tbdbg why`: explains the first bad value of each run.

Takes a logdir and prints which op made the value, from which inputs, why, on which line, and what helps; as
text or as JSON.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.alerts.pages import broken_sentence
from tb_debugger_plugin.analysis.diagnosis.explain import diagnose_alert
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.cli.reading import add_arguments, chosen_runs, print_results, read_whole, run_each
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.index.runs import Run

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction

#: Modes that do not measure NaN and infinity.
_BLIND: Final = (TensorDebugMode.NO_TENSOR.name, TensorDebugMode.SHAPE.name)


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `why` to the command line."""
    parser = subparsers.add_parser("why", help="which op made the first bad value, where and why")
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the diagnoses; returns the exit code."""
    results = run_each(chosen_runs(args.logdir, args.name), _explain)
    return print_results(results, _words, as_json=args.json, separator="\n\n")


def _explain(run: Run) -> dict[str, Any]:
    with read_whole(run) as loader, open_snapshot(loader) as snapshot:
        return _facts(snapshot)


def _facts(snapshot: Snapshot) -> dict[str, Any]:
    alerts, facts = alert_list(snapshot), status(snapshot)
    diagnosis, found = diagnose_alert(snapshot), origins(snapshot)
    if diagnosis is None:
        broken = broken_sentence(snapshot)
        sentences = _of_expected(found, broken) if len(alerts) else _nothing_found(facts, broken)
    else:
        swallowed = [one.outcome for one in found[:1] if one.category == "swallowed" and one.outcome]
        sentences = [*swallowed, *diagnosis.sentences]
    return {
        "diagnosis": None if diagnosis is None else diagnosis.to_json(),
        "sentences": sentences,
        "alerts_breakdown": {rule.id: alerts.count(rule) for rule in LISTED if alerts.count(rule)},
        "not_recorded": facts["not_recorded"],
    }


def _of_expected(found: list[Origin], broken: str) -> list[str]:
    """What is said of bad values without a first cause: all are expected only if each of them is known."""
    wrong = next((one for one in found if one.category != "expected"), None)
    if wrong is not None:
        return [f"First bad value: {wrong.headline}", wrong.explanation]
    if not found:
        return ["Bad values are on record, but not where they come from. `tbdbg alerts` lists them."]
    if broken:
        return ["All bad values are expected: `tbdbg origins` says why.", broken]
    return ["Nothing is wrong: all bad values are expected. `tbdbg origins` says why."]


def _nothing_found(facts: dict[str, Any], broken: str) -> list[str]:
    mode = facts["tensor_debug_mode"]
    if mode in _BLIND:
        return [
            f"This run was recorded in mode {mode}, which does not measure NaN and infinity. Record with"
            ' tensor_debug_mode="FULL_HEALTH".'
        ]
    count = f"{facts['num_executions']:,} executions and {facts['num_graph_executions']:,} graph executions"
    return [f"No NaN or infinity in {count}.", broken] if broken else [f"No alert in {count}."]


def _words(name: str, facts: dict[str, Any]) -> str:
    diagnosis = facts["diagnosis"]
    lines = [name]
    if diagnosis is not None:
        lines.append(f"  First bad value: {diagnosis['headline']}")
    lines += [f"  {sentence}" for sentence in facts["sentences"]]
    titles = {rule.id: rule.title for rule in LISTED}
    counts = [f"{count:,} {titles[rule]}" for rule, count in facts["alerts_breakdown"].items()]
    lines += [f"  Alerts: {', '.join(counts)}"] if counts else []
    lines += [f"  Not recorded: {missing['message']}" for missing in facts["not_recorded"]]
    return "\n".join(map(printable, lines))
