"""`tbdbg alerts`: evaluates the alert rules on runs, for people and for continuous integration.

Takes a logdir, rules and thresholds, and prints what breaks them, most urgent first; as text, JSON, or a
JUnit file. The exit code is 3 when `--fail-on` names a severity and an alert has it, or a higher one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tb_debugger_plugin.analysis.alerts.findings import verdicts
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.pages import by_urgency, findings_json, place_words, verdict_json
from tb_debugger_plugin.analysis.alerts.settings import Settings, settings_of_texts
from tb_debugger_plugin.analysis.alerts.severity import Severity
from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.cli import junit
from tb_debugger_plugin.cli.reading import add_arguments, chosen_runs, print_results, read_whole, run_each
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.index.runs import Run

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction

#: The exit code when alerts are not accepted.
NOT_ACCEPTED: Final = 3
_SHOWN: Final = 50


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `alerts` to the command line."""
    parser = subparsers.add_parser("alerts", help="which tensors break a rule (docs/guide/rules.md)")
    add_arguments(parser)
    parser.add_argument(
        "--rule",
        action="append",
        metavar="ID[:PARAMETER=VALUE,...]",
        dest="rules",
        help="only this rule, perhaps with other thresholds; may be repeated; 'all' for every rule"
        " (default: the rules that fit the model)",
    )
    parser.add_argument(
        "--rules",
        action="append",
        metavar="FILE",
        dest="files",
        help="more rules, in TOML or in Python, which is run; tbdbg_rules.toml in the logdir is read anyway",
    )
    parser.add_argument(
        "--fail-on",
        choices=[one.word for one in Severity],
        metavar="SEVERITY",
        help=f"exit with {NOT_ACCEPTED} if an alert is critical, or at least high, medium or low",
    )
    parser.add_argument("--junit", metavar="FILE", help="also write a JUnit file, a test case for each rule")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the alerts; returns the exit code."""
    given = [Path(path) for path in args.files or ()]

    def judge(found: Run) -> dict[str, Any]:
        settings = settings_of_texts(args.rules, own_files(found, given))
        with read_whole(found) as loader, open_snapshot(loader) as snapshot:
            return _facts(snapshot, settings)

    results = run_each(chosen_runs(args.logdir, args.name), judge)
    code = print_results(results, _words, as_json=args.json, separator="\n\n")
    least = Severity[args.fail_on.upper()] if args.fail_on else None
    if args.junit:
        junit.write(args.junit, results, least or Severity.CRITICAL)
    return code or (NOT_ACCEPTED if least is not None and _is_broken(results, least) else 0)


def _facts(snapshot: Snapshot, settings: Settings) -> dict[str, Any]:
    judged = verdicts(snapshot, settings)
    return {
        "rules": [verdict_json(one) for one in judged],
        "alerts": findings_json(snapshot, by_urgency(judged)),
    }


def _is_broken(results: dict[str, dict[str, Any]], least: Severity) -> bool:
    alerts = (alert for facts in results.values() for alert in facts.get("alerts", ()))
    return any(alert["allowed"] is None and Severity[alert["severity"].upper()] >= least for alert in alerts)


def _words(name: str, facts: dict[str, Any]) -> str:
    alerts = facts["alerts"]
    lines = [name, *(f"  {_line(facts, alert)}" for alert in alerts[:_SHOWN])]
    if len(alerts) > _SHOWN:
        lines.append(f"  {len(alerts) - _SHOWN:,} more; --json gives all.")
    if all(alert["allowed"] for alert in alerts):
        lines.append("  No alert.")
    lines += [f"  {rule['title']}: {rule['missing']}" for rule in facts["rules"] if rule["missing"]]
    return "\n".join(map(printable, lines))


def _line(facts: dict[str, Any], alert: dict[str, Any]) -> str:
    """Such as "critical  NaN/∞: 200 −∞ in Log:0 (Log), train.py:3 in loss, 12 times"."""
    titles = {rule["alert_type"]: rule["title"] for rule in facts["rules"]}
    times = f", {alert['count']:,} times" if alert["count"] > 1 else ""
    severity = alert["severity"] if alert["allowed"] is None else "allowed"
    reason = f" ({alert['allowed']})" if alert["allowed"] else ""
    head = f"{severity:<8}  {titles[alert['alert_type']]}: {alert['measured']} in"
    return f"{head} {place_words(alert)}{times}{reason}"
