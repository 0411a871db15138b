"""`tbdbg why`: explains the first bad value of each run.

Takes a logdir and prints which op made the value, from which inputs, why, on which line, and what helps; as
text or as JSON. Where no value is bad, it prints the verdict on the run.
"""

from __future__ import annotations

import argparse

from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.analysis.verdict import RunVerdict
from tb_debugger_plugin.cli.reading import add_arguments, print_each, run_each
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading.alerts import Explanation
from tb_debugger_plugin.reading.run import Run


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `why`."""
    add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the diagnoses; return the exit code."""
    return print_each(args, run_each(args, _facts), dict, _words)


def _facts(run: Run) -> Json:
    said, reason = run.verdict(), run.why()
    return {
        "verdict": said.to_json(),
        "diagnosis": None if reason is None else reason.facts,
        "sentences": _sentences(said, reason),
        "alerts_breakdown": run.alert_counts(),
        "not_recorded": run.status()["not_recorded"],
    }


def _sentences(said: RunVerdict, reason: Explanation | None) -> list[str]:
    """Return what follows the headline of a verdict."""
    if said.kind == "bad":
        return list(said.sentences) if reason is None else reason.sentences
    is_trouble = said.kind == "rules" and reason is not None
    cause = [f"First cause: {reason.headline}", *reason.sentences] if reason and is_trouble else []
    return [*said.sentences, *said.doubts, *cause]


def _words(name: str, facts: Json) -> str:
    lines = [name, *(f"  {line}" for line in (facts["verdict"]["headline"], *facts["sentences"]))]
    titles = {rule.id: rule.title for rule in LISTED}
    counts = [f"{count:,} {titles[rule]}" for rule, count in facts["alerts_breakdown"].items()]
    lines += [f"  Alerts: {', '.join(counts)}"] if counts else []
    lines += [f"  Not recorded: {missing['message']}" for missing in facts["not_recorded"]]
    return "\n".join(map(printable, lines))
