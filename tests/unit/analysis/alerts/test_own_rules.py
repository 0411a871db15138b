"""`analysis/alerts/own_files.py`: rules and allowed alerts in files of the user, and what they may not do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.alerts import own_rules
from tb_debugger_plugin.analysis.alerts.allow import FILE_NAME as ALLOW
from tb_debugger_plugin.analysis.alerts.allow import Allowed, add_allowed, read_allowed
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.run import open_run
from tests.support.asking import Asker
from tests.support.commands import Tbdbg
from tests.support.events import small_program
from tests.support.numerics import training

_RULE = """[[rule]]
id = "LossAlert"
title = "Loss"
severity = "high"
where = "op_name LIKE 'Re%' AND max > $limit"
measured = "max"
parameters = {limit = 2.5}
"""
_MEANT = {"run": ".", "rule": "InfNanAlert", "reason": "x"}
#: Makes the name of a file that of a subquery, elsewhere in a statement.
_AS_CTE = 'WITH "S" AS (SELECT 1 AS z)'


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A run `train` whose ReLU gives 1, 2, 3 and 4."""
    training(tmp_path / "train", [{"Relu": [float(n), 0.0], "x": [9.0]} for n in (1, 2, 3, 4)]).close()
    return tmp_path


@pytest.fixture
def page(small_run: Path) -> Iterator[Asker]:
    """The viewer of a small program; it has written no file in the end."""
    with Asker(small_run) as page:
        yield page
    assert not (small_run / ALLOW).exists()


def found(tbdbg: Tbdbg, logdir: Path, rule: str, *options: str) -> list[tuple[str, int]]:
    (facts,) = tbdbg.json("alerts", logdir, "--rule", rule, *options).values()
    assert "error" not in facts, facts
    return [(alert["op_name"] or alert["op_type"], alert["count"]) for alert in facts["alerts"]]


@pytest.mark.parametrize("place", [".", "train"])
def test_a_rule_in_sql_is_read_beside_the_run_and_above_it(logdir, tbdbg, place):
    (logdir / place / "tbdbg_rules.toml").write_text(_RULE)
    assert found(tbdbg, logdir, "LossAlert") == [("Relu", 2)]
    assert found(tbdbg, logdir, "LossAlert:limit=3.5") == [("Relu", 1)]
    assert found(tbdbg, logdir, "recommended") == [("Relu", 2)]
    with Asker(logdir) as page:
        (rule,) = page.json("/alerts/rules", {"run": "train", "rule": "LossAlert", "LossAlert.limit": 1.5})[
            "rules"
        ]
    assert (rule["num_tensors"], rule["num_values"], rule["parameters"][0]["default"]) == (1, 3, 2.5)


def test_a_rule_may_be_a_query_for_positions(logdir, tbdbg):
    query = "SELECT idx FROM graph_executions JOIN sites USING (site) JOIN ops USING (op) WHERE type = 'Relu'"
    (logdir / "tbdbg_rules.toml").write_text(f'[[rule]]\nid = "Q"\nquery = "{query}"\n')
    assert found(tbdbg, logdir, "Q") == [("Relu", 4)]


def test_a_rule_sees_eager_ops(small_run, tbdbg):
    (small_run / "tbdbg_rules.toml").write_text(
        '[[rule]]\nid = "Z"\nwhere = "zero > 0 AND op_type = \'Fill\'"\n'
    )
    assert found(tbdbg, small_run, "Z") == [("Fill", 2)]


@pytest.mark.parametrize(
    "key, sql",
    [
        ("where", "max > (SELECT count(*) FROM read_text('/etc/passwd'))"),
        ("where", "(SELECT count(*) FROM '/etc/passwd.csv') > 0"),
        ("where", "getenv('HOME') <> ''"),
        ("where", "true) GROUP BY site; DROP TABLE graph_executions; --"),
        ("where", "(SELECT count(*) FROM information_schema.tables) > 0"),
        ("query", "SELECT 1 AS idx FROM read_csv('/etc/passwd')"),
        ("query", "SELECT 1 AS idx FROM duckdb_settings()"),
        ("query", "COPY graph_executions TO 'x.csv'"),
        ("query", "DELETE FROM graph_executions"),
        ("query", "SELECT max FROM graph_executions"),
        ("query", "SELECT idx FROM nothing"),
        ("query", "SELECT 1 AS idx FROM (SHOW DATABASES)"),
        ("query", "SELECT 1 AS idx FROM (SHOW ALL TABLES)"),
        ("query", "SELECT max AS idx FROM (DESCRIBE ops)"),
        # Names of subqueries outside of their scope, where they are those of files and of DuckDB's views.
        ("query", f'SELECT x AS idx FROM "S" WHERE (SELECT count(*) FROM ({_AS_CTE} SELECT * FROM "S")) > 0'),
        ("query", 'WITH "S" AS (SELECT * FROM "S") SELECT x AS idx FROM "S"'),
        (
            "where",
            f'(SELECT max(x) FROM "S") > 0 AND (SELECT count(*) FROM ({_AS_CTE} SELECT * FROM "S")) > 0',
        ),
        ("measured", f'(SELECT max(x) FROM "S") + (SELECT count(*) FROM ({_AS_CTE} SELECT * FROM "S"))'),
        (
            "query",
            "SELECT 1 AS idx FROM duckdb_databases WHERE (WITH duckdb_databases AS (SELECT 1 AS z)"
            " SELECT z FROM duckdb_databases) > 0",
        ),
    ],
)
def test_a_rule_that_reads_anything_but_the_tables_is_refused(logdir, tbdbg, key, sql):
    (logdir / "secret.csv").write_text("x\n42\n")
    sql = json.dumps(sql.replace('"S"', f'"{logdir}/secret.csv"'))
    where = 'where = "true"\n' if key == "measured" else ""
    (logdir / "tbdbg_rules.toml").write_text(f'[[rule]]\nid = "R"\n{where}{key} = {sql}\n')
    said = tbdbg.said("alerts", logdir, "--rule", "R", code=1)
    assert "42" not in said.out
    assert "rule" in said.err or "query" in said.err
    assert "root:" not in said.err
    with Asker(logdir) as page:
        assert page.get("/alerts/rules", {"run": "train", "rule": "R"}).status_code == 400
        assert page.json("/status", {"run": "train"})["num_graph_executions"] == 8


def test_a_rule_may_name_a_subquery(logdir, tbdbg):
    query = "WITH large AS (SELECT idx FROM graph_executions WHERE max > 3.5) SELECT idx FROM large"
    (logdir / "tbdbg_rules.toml").write_text(f'[[rule]]\nid = "Q"\nquery = "{query}"\n')
    assert sorted(found(tbdbg, logdir, "Q")) == [("Relu", 1), ("x", 4)]


def test_a_rule_that_takes_too_long_leaves_the_others_their_answers(logdir, tbdbg, monkeypatch):
    monkeypatch.setattr(own_rules, "_MAX_SECONDS", 0.2)
    endless = "SELECT a AS idx FROM range(1000000000) x(a), range(1000000000) y(b) WHERE a + b < 0"
    (logdir / "tbdbg_rules.toml").write_text(f'[[rule]]\nid = "Slow"\nquery = "{endless}"\n{_RULE}')
    with Asker(logdir) as page:
        for _ in range(2):
            query = {"run": "train", "rules": "Slow,LossAlert"}
            rules = {rule["alert_type"]: rule for rule in page.json("/alerts/rules", query)["rules"]}
            assert "takes more than 0.2 s" in rules["Slow"]["missing"]
            assert (rules["LossAlert"]["missing"], rules["LossAlert"]["num_tensors"]) == (None, 1)
            (alert,) = page.json("/alerts/found", query)["alerts"]
            assert alert["alert_type"] == "LossAlert"
    said = tbdbg("alerts", logdir, "--rule", "Slow", "--rule", "LossAlert")
    assert "Loss: 3 in Relu:0" in said and "Slow: Its query takes more than 0.2 s" in said


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("[[rule]]\n", "id must be a text"),
        ('[[rule]]\nid = "a b"\nwhere = "true"', "id must be letters"),
        ('[[rule]]\nid = "R"', "needs either where or query"),
        (
            '[[rule]]\nid = "R"\nwhere = "true"\nseverty = "low"',
            "there is no 'severty'; choose from id, title",
        ),
        (
            '[[rule]]\nid = "R"\nwhere = "true"\nseverity = "bad"',
            "must be one of low, medium, high, critical",
        ),
        ('[[rule]]\nid = "R"\nwhere = "true"\nparameters = {x = "1"}', "R.x must be a number"),
        ('[[rule]]\nid = "InfNanAlert"\nwhere = "true"', "Two rules have the id InfNanAlert"),
        ("[[rules]]\n", "must hold tables [[rule]]"),
        ("id = ", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(logdir, tbdbg, text, sentence):
    (logdir / "tbdbg_rules.toml").write_text(text)
    assert sentence in tbdbg.error("alerts", logdir)


_PYTHON = '''
def loss_is_large(rows, limit=2.5):
    """The loss is above the limit."""
    return (rows["op_name"] == "Relu") & (rows["max"] > limit)

loss_is_large.severity = "critical"

def helper(x):
    return x
'''


def test_a_rule_in_python_is_run_when_the_user_names_its_file(logdir, tbdbg):
    (logdir / "mine.py").write_text(_PYTHON)
    named = ["--rules", str(logdir / "mine.py")]
    assert found(tbdbg, logdir, "loss_is_large:limit=1.5", *named) == [("Relu", 3)]
    assert main(["alerts", str(logdir), *named, "--fail-on", "critical"]) == 3
    with open_run(logdir) as run:
        (alert,) = run.alerts(rule="loss_is_large", limit=3.5, rules_file=logdir / "mine.py")
        assert alert.facts["severity"] == "critical"
        assert "The loss is above the limit." in str(alert.why())


def test_python_beside_a_recording_is_never_run_by_itself(logdir):
    trace = logdir / "ran"
    (logdir / "tbdbg_rules.py").write_text(f"open({str(trace)!r}, 'w')\n{_PYTHON}")
    assert main(["alerts", str(logdir), "--rule", "all"]) == 0
    with open_run(logdir) as run, Asker(logdir) as page:
        run.alerts(rule="all")
        page.json("/alerts/rules", {"run": "train", "rules": "all"})
        assert page.get("/alerts/rules", {"run": "train", "rule": "loss_is_large"}).status_code == 400
    assert not trace.exists()


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "has no rule"),
        ("def r(rows, limit): pass", "needs a number as its default"),
        ("def r(rows): return rows['max']", "must return an array of 8 truth values"),
        ("def r(rows): return rows['none']", "KeyError"),
    ],
)
def test_python_that_fails_is_an_error_with_a_sentence(logdir, tbdbg, text, sentence):
    (logdir / "mine.py").write_text(text)
    assert sentence in tbdbg.error("alerts", logdir, "--rules", logdir / "mine.py")


@pytest.mark.parametrize(
    "entry, is_meant",
    [
        ('rule = "InfNanAlert"', True),
        ('rule = "ExplodingAlert"', False),
        ('op_name = "L*"', True),
        ('op_name = "l*"', False),
        ('op_type = "Log"', True),
        ('line = "train.py:3"', True),
        ('line = "rain.py:3"', False),
        ('line = "train.py:4"', False),
        ('rule = "InfNanAlert"\nop_name = "Log"\nline = "me/train.py:3"', True),
        ('rule = "InfNanAlert"\nop_name = "Exp"', False),
    ],
)
def test_an_allowed_alert_is_shown_with_its_reason_and_does_not_fail(small_run, tbdbg, entry, is_meant):
    (small_run / ALLOW).write_text(f'[[allow]]\n{entry}\nreason = "It is a mask."\n')
    said = tbdbg("alerts", small_run, "--fail-on", "critical", code=0 if is_meant else 3)
    allowed = "allowed   NaN/∞: 1 −∞ in Log:0, train.py:3, 2 times (It is a mask.)"
    assert (allowed in said) == is_meant


def test_what_the_page_calls_meant_is_kept_in_a_file_that_toml_readers_read(tmp_path):
    small_program(tmp_path / "train").close()
    body = {"run": "train", "rule": "InfNanAlert", "op_name": "Log", "reason": 'a "mask"\\ of\nlines \x7f é'}
    with Asker(tmp_path) as page:
        assert page.post("/alerts/allow", body).json == {"file": ALLOW}
        assert page.post("/alerts/allow", body).json == {"file": ALLOW}
        alerts = page.json("/alerts/found", {"run": "train", "rules": "InfNanAlert"})["alerts"]
        (rule,) = page.json("/alerts/rules", {"run": "train", "rule": "InfNanAlert"})["rules"]
    assert [alert["allowed"] for alert in alerts] == [None] * 3 + [body["reason"]]
    assert (rule["num_tensors"], rule["num_allowed"]) == (3, 1)
    assert read_allowed(tmp_path / "train" / ALLOW) == [Allowed(body["reason"], "InfNanAlert", "Log")]
    assert sorted(path.name for path in (tmp_path / "train").iterdir() if "tbdbg" in path.name) == [ALLOW]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-TB-Debugger-Key": "wrong"},
        {"Content-Type": "text/plain"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
    ],
)
def test_a_request_that_may_be_forged_writes_nothing(page, headers):
    assert page.post("/alerts/allow", _MEANT, headers).status_code == 403


def test_a_viewer_that_is_read_only_writes_nothing(small_run, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_READ_ONLY", "1")
    with Asker(small_run) as page:
        answer = page.post("/alerts/allow", _MEANT)
    assert (answer.status_code, "read-only" in answer.json["error"]) == (403, True)
    assert not (small_run / ALLOW).exists()


@pytest.mark.parametrize(
    "body",
    [
        {"run": ".", "reason": "x"},
        {"run": ".", "rule": "InfNanAlert"},
        {**_MEANT, "reason": 1},
        {**_MEANT, "reason": "x" * 2000},
        {**_MEANT, "file": "/etc/passwd"},
        {"rule": "InfNanAlert", "reason": "x"},
        [],
    ],
)
def test_a_wrong_entry_is_refused(page, body):
    assert page.post("/alerts/allow", body).status_code == 400


def test_a_file_that_is_no_allow_list_is_left_alone(tmp_path):
    (tmp_path / ALLOW).write_text("broken = ")
    with pytest.raises(UsageError, match="cannot be read"):
        add_allowed(tmp_path, Allowed("x", rule="InfNanAlert"))
    assert (tmp_path / ALLOW).read_text() == "broken = "


def test_a_link_in_the_folder_of_a_run_is_not_written_through(tmp_path):
    secret = tmp_path / "secret.toml"
    secret.write_text("")
    folder = tmp_path / "run"
    folder.mkdir()
    os.symlink(secret, folder / ALLOW)
    add_allowed(folder, Allowed("x", rule="InfNanAlert"))
    assert secret.read_text() == ""
    assert read_allowed(folder / ALLOW) == [Allowed("x", rule="InfNanAlert")]


def test_open_run_refuses_thresholds_without_their_rule(logdir):
    with open_run(logdir) as run:
        for wrong in (
            {"limit": 1},
            {"rule": "all", "limit": 1},
            {"alert_type": "InfNanAlert", "rule": "all"},
        ):
            with pytest.raises(UsageError):
                run.alerts(**wrong)
        assert run.alerts() == []
        assert [one.op_name for one in run.alerts(rule="VarianceAlert", above=0.5)] == ["Relu"]
        assert [one.alert_type for one in run.alerts(rule=["ShapeChangeAlert", "AllZeroAlert"])] == []
