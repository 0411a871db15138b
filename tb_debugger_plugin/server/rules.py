"""The routes below ``alerts``: rules and their thresholds, what breaks them, and what is meant.

Thresholds are parameters of the query whose names have a dot, such as ``GrowingAlert.factor=100``. ``rules``
names the rules, or is ``all`` or ``recommended``. Rules of the user's own are those of `tbdbg_rules.toml`
beside the run, which read tables only; Python beside a run is never executed here.
"""

from __future__ import annotations

import threading
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.alerts import findings, groups, pages
from tb_debugger_plugin.analysis.alerts.allow import FILE_NAME, add_allowed, made_allowed
from tb_debugger_plugin.analysis.alerts.explain import Diagnosis
from tb_debugger_plugin.analysis.alerts.own_files import OwnFiles, own_files
from tb_debugger_plugin.analysis.alerts.settings import RuleSettings, make_settings
from tb_debugger_plugin.analysis.beside import own_folder
from tb_debugger_plugin.analysis.snapshot import Json, RangeJson, Snapshot, check_index
from tb_debugger_plugin.errors import BadQueryError, ForbiddenError
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.viewer import Viewer

#: One file is changed at a time.
_writing: Final = threading.Lock()
_FIELDS: Final = ("rule", "op_name", "op_type", "line", "reason")


def settings_of(snapshot: Snapshot, query: Query) -> RuleSettings:
    """Return the settings of a query, with what the user's files beside the run say.

    Raises:
      UsageError: A rule or parameter does not exist, or cannot have this value; or a file is wrong.
    """
    given = [(name.rsplit(".", 1), query.text(name)) for name in query.parameters if "." in name]
    rules = None if query.optional_text("rules") is None else query.texts("rules")
    return make_settings([(rule, name, value) for (rule, name), value in given], rules, _own(snapshot))


def _own(snapshot: Snapshot) -> OwnFiles:
    return own_files(snapshot.loader.run)


class RulesJson(TypedDict):
    """The answer of the route ``alerts/rules``."""

    rules: list[pages.RuleJson]  #: the rules


def rules(snapshot: Snapshot, query: Query) -> Json:
    """Return all rules, with counts of those that are asked for; of one rule with ``rule``."""
    settings = settings_of(snapshot, query)
    one = query.optional_text("rule")
    if one is not None:
        verdicts = [findings.verdict(snapshot, settings, settings.rule(one))]
    else:
        order = {rule: position for position, rule in enumerate(settings.known)}
        verdicts = [*findings.verdicts(snapshot, settings), *findings.unasked(snapshot, settings)]
        verdicts.sort(key=lambda verdict: order[verdict.rule])
    return {"rules": [pages.verdict_json(verdict) for verdict in verdicts]}


class FindingsJson(RangeJson):
    """The answer of the route ``alerts/found``."""

    num_alerts: int  #: length of the list
    alerts: list[pages.FindingJson]  #: at the first value of each tensor that breaks the rule


def found(snapshot: Snapshot, query: Query) -> Json:
    """Return a range of what breaks the rules that are asked for."""
    settings = settings_of(snapshot, query)
    every = pages.by_urgency(findings.verdicts(snapshot, settings))
    page = query.range(len(every), may_end_later=True)
    return {
        **vars(page),
        "num_alerts": len(every),
        "alerts": pages.findings_json(snapshot, every[page.begin : page.end]),
    }


class AlertGroupsJson(RangeJson):
    """The answer of the route ``alerts/groups``."""

    num_groups: int  #: length of the list
    num_alerts: int  #: how many alerts, tensors and values all groups have together
    num_tensors: int
    count: int
    groups: list[groups.AlertGroupJson]  #: the groups of the range, that of the most urgent alert first


def grouped(snapshot: Snapshot, query: Query) -> Json:
    """Return a range of the groups of what breaks the rules that are asked for and is not meant."""
    settings = settings_of(snapshot, query)
    by = query.choice("by", tuple(groups.GROUPINGS))
    found = groups.alert_groups(snapshot, settings, by)
    page = query.range(len(found), may_end_later=True)
    totals = {name: sum(group[name] for group in found) for name in ("num_alerts", "num_tensors", "count")}
    return {**vars(page), "num_groups": len(found), **totals, "groups": found[page.begin : page.end]}


class ExplainedJson(TypedDict):
    """The answer of the routes that explain."""

    diagnosis: Diagnosis | None  #: null when nothing is wrong that could be explained


def explained(snapshot: Snapshot, query: Query) -> ExplainedJson:
    """Return the explanation of one alert of :func:`found`."""
    settings, position = settings_of(snapshot, query), query.position("index")
    every = pages.by_urgency(findings.verdicts(snapshot, settings))
    finding = every[check_index(position, len(every), "alert")]
    return {"diagnosis": pages.explain_finding(snapshot, finding)}


def allow(viewer: Viewer, body: object) -> Json:
    """Add an alert that is meant to the allow-list in the folder of its run."""
    if (
        not isinstance(body, dict)
        or not set(body) <= {"run", *_FIELDS}
        or not isinstance(body.get("run"), str)
    ):
        raise BadQueryError(f"The body must be an object with run and some of {', '.join(_FIELDS)}.")
    # As a query, whose texts have a largest length.
    run = Query(body).text("run")
    folder = own_folder(viewer.run_library.found(run))
    try:
        entry = made_allowed({name: body.get(name) for name in _FIELDS})
        with _writing:
            add_allowed(folder, entry)
    except OSError as error:
        reason = error.strerror or "it cannot be written to"
        raise ForbiddenError(f"{FILE_NAME} cannot be kept in the folder of the run: {reason}.") from error
    return {"file": FILE_NAME}
