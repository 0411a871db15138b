"""`tbdbg alerts`: evaluates the alert rules on runs, for people and for continuous integration.

Takes a logdir, rules and thresholds, and prints what breaks them, most urgent first; as text, JSON, or a
JUnit file. The exit code is 3 when `--fail-on` names a severity and an alert has it, or a higher one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from tb_debugger_plugin.analysis.alerts.groups import GROUPINGS
from tb_debugger_plugin.analysis.alerts.pages import place_words
from tb_debugger_plugin.analysis.alerts.rule import Severity
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.cli import junit
from tb_debugger_plugin.cli.reading import Failure, add_arguments, print_each, run_each
from tb_debugger_plugin.events.printable import printable

#: The exit code when alerts are not accepted.
NOT_ACCEPTED: Final = 3
_SHOWN: Final = 50


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `alerts`."""
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
    parser.add_argument(
        "--limit", type=_a_count, metavar="N", help=f"only the first N alerts (default: {_SHOWN}; JSON: all)"
    )
    parser.add_argument("--group-by", choices=GROUPINGS, help="count alerts by what they have in common")
    parser.add_argument("--junit", metavar="FILE", help="also write a JUnit file, a test case for each rule")


def run(args: argparse.Namespace) -> int:
    """Print the alerts; return the exit code."""
    given = [Path(path) for path in args.files or ()]
    results = run_each(args, lambda run: run.judged(args.rules, given, args.group_by))
    limit = args.limit if args.json or args.limit is not None else _SHOWN
    shown = {
        name: facts if isinstance(facts, Failure) else _shown(facts, limit) for name, facts in results.items()
    }
    code = print_each(args, shown, dict, _words)
    least = Severity[args.fail_on.upper()] if args.fail_on else None
    if args.junit:
        junit.write(args.junit, results, least or Severity.CRITICAL)
    return code or (NOT_ACCEPTED if least is not None and _is_broken(results, least) else 0)


def _shown(facts: Json, limit: int | None) -> Json:
    """Return what is printed of a run: its first alerts, or its first groups of them."""
    alerts, groups = facts["alerts"], facts.get("groups")
    counted = {name: value for name, value in facts.items() if name not in ("alerts", "groups")}
    counted["num_alerts"] = len(alerts)
    if groups is None:
        return {**counted, "alerts": alerts[:limit]}
    return {**counted, "num_groups": len(groups), "groups": groups[:limit]}


def _a_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"it must be a number of alerts, not {text!r:.50}")
    return int(text)


def _is_broken(results: dict[str, Json | Failure], least: Severity) -> bool:
    judged = (facts for facts in results.values() if not isinstance(facts, Failure))
    alerts = (alert for facts in judged for alert in facts["alerts"])
    return any(alert["allowed"] is None and Severity[alert["severity"].upper()] >= least for alert in alerts)


def _words(name: str, facts: Json) -> str:
    alerts, groups = facts.get("alerts", ()), facts.get("groups", ())
    lines = [name, *(f"  {_line(facts, alert)}" for alert in alerts)]
    lines += [f"  {_group_line(group)}" for group in groups]
    left = facts["num_groups" if "num_groups" in facts else "num_alerts"] - len(alerts) - len(groups)
    if left:
        lines.append(f"  {left:,} more; --limit N prints more, --json all.")
    if not groups and not left and all(alert["allowed"] for alert in alerts):
        lines.append("  No alert.")
    lines += [f"  {rule['title']}: {rule['missing']}" for rule in facts["rules"] if rule["missing"]]
    return "\n".join(map(printable, lines))


def _group_line(group: Json) -> str:
    """Such as "high      encoder/dense: 3 alerts, 40 times (GrowingAlert, VanishingGradientAlert)"."""
    alerts = f"{group['num_alerts']:,} alert{'s' * (group['num_alerts'] != 1)}"
    rules = ", ".join(one for one in group["alert_types"] if one != group["group"])
    head = f"{group['severity']:<8}  {group['group']}: {alerts}, {group['count']:,} times"
    return f"{head} ({rules})" if rules else head


def _line(facts: Json, alert: Json) -> str:
    """Such as "critical  NaN/∞: 200 −∞ in Log:0 (Log), train.py:3 in loss, 12 times"."""
    titles = {rule["alert_type"]: rule["title"] for rule in facts["rules"]}
    times = f", {alert['count']:,} times" if alert["count"] > 1 else ""
    severity = alert["severity"] if alert["allowed"] is None else "allowed"
    reason = f" ({alert['allowed'] or alert['remark']})" if alert["allowed"] or alert["remark"] else ""
    head = f"{severity:<8}  {titles[alert['alert_type']]}: {alert['measured']} in"
    return f"{head} {place_words(alert, facts['processes'])}{times}{reason}"
