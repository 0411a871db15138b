"""Writes what rules say of runs as a JUnit file, which systems of continuous integration show.

A run is a test suite and a rule a test case. A rule that the run cannot answer is skipped.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from tb_debugger_plugin.analysis.alerts.pages import place_words
from tb_debugger_plugin.analysis.alerts.rule import Severity
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.cli.reading import Failure

#: Characters that XML cannot hold.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LISTED: Final = 100


def write(path: str, results: dict[str, Json | Failure], least: Severity) -> None:
    """Write the file.

    Args:
      path: Where.
      results: The facts of each run by name, or why there are none.
      least: From which severity on an alert is a failure.

    Raises:
      OSError: The file cannot be written.
    """
    suites = ElementTree.Element("testsuites")
    for name, facts in results.items():
        suites.append(_suite(name, facts, least))
    ElementTree.indent(suites)
    ElementTree.ElementTree(suites).write(path, "utf-8", xml_declaration=True)


def _suite(name: str, facts: Json | Failure, least: Severity) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(name))
    if isinstance(facts, Failure):
        case = ElementTree.SubElement(suite, "testcase", classname=_text(name), name="the run can be read")
        ElementTree.SubElement(case, "error", message=_text(facts.error))
    else:
        suite.extend(_case(name, rule, facts["alerts"], least) for rule in facts["rules"])
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped",) * 2):
        suite.set(kind, str(len(list(suite.iter(tag)))))
    return suite


def _case(run: str, rule: Json, alerts: list[Json], least: Severity) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=_text(run), name=_text(rule["alert_type"]))
    own = [alert for alert in alerts if alert["alert_type"] == rule["alert_type"]]
    failed = [
        alert for alert in own if alert["allowed"] is None and Severity[alert["severity"].upper()] >= least
    ]
    if rule["missing"]:
        ElementTree.SubElement(case, "skipped", message=_text(rule["missing"]))
    if failed:
        failure = ElementTree.SubElement(case, "failure", message=_text(_sentence(failed[0])))
        failure.text = _lines(failed)
    rest = [alert for alert in own if alert not in failed]
    if rest:
        ElementTree.SubElement(case, "system-out").text = _lines(rest)
    return case


def _lines(alerts: list[Json]) -> str:
    more = [f"{len(alerts) - _LISTED:,} more"] if len(alerts) > _LISTED else []
    return _text("\n".join([*map(_sentence, alerts[:_LISTED]), *more]))


def _sentence(alert: Json) -> str:
    severity = alert["severity"] if alert["allowed"] is None else f"allowed ({alert['allowed']})"
    return f"{severity}: {alert['measured']} in {place_words(alert)}"


def _text(words: str) -> str:
    return _NOT_XML.sub("�", words)
