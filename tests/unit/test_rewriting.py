"""`analysis/diagnosis/rewriting.py`: changed lines are right, or there are none."""

from __future__ import annotations

import ast

import pytest

from tb_debugger_plugin.analysis.diagnosis import advice
from tb_debugger_plugin.analysis.diagnosis.advice import Advice
from tb_debugger_plugin.analysis.diagnosis.causes import CAUSES
from tb_debugger_plugin.analysis.diagnosis.patterns import PATTERNS
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example, Rewrite, example_of

LOG = Rewrite("log(X)", "tf.math.log(tf.maximum(X, 1e-7))")
_CAUSES = [cause.help for cause in CAUSES if cause.help is not None]
ADVICE = [
    *_CAUSES,
    *(pattern.advice for pattern in PATTERNS),
    *(value for value in vars(advice).values() if isinstance(value, Advice)),
]


@pytest.mark.parametrize(
    "line, rewrite, before, after",
    [
        ("y = tf.math.log(p)", LOG, "tf.math.log(p)", "tf.math.log(tf.maximum(p, 1e-7))"),
        ("  return K.log(p[0] + 1)  # é", LOG, "K.log(p[0] + 1)", "tf.math.log(tf.maximum(p[0] + 1, 1e-7))"),
        ("log(p, name='n')", LOG, "log(p, name='n')", "tf.math.log(tf.maximum(p, 1e-7))"),
        ("with f(log(X)):", LOG, "log(X)", "tf.math.log(tf.maximum(X, 1e-7))"),
        ("tf.reduce_sum(y * tf.math.log(p),", LOG, "tf.math.log(p)", "tf.math.log(tf.maximum(p, 1e-7))"),
        ("y * tf.math.log(p))", LOG, "tf.math.log(p)", "tf.math.log(tf.maximum(p, 1e-7))"),
        (
            "n = tf.norm(R, axis=-1, keepdims=K)",
            Rewrite("norm(X, **K)", "tf.sqrt(tf.reduce_sum(tf.square(X), **K) + 1e-12)"),
            "tf.norm(R, axis=-1, keepdims=K)",
            "tf.sqrt(tf.reduce_sum(tf.square(R), axis=-1, keepdims=K) + 1e-12)",
        ),
        (
            "tf.where(x > 0, 1 / x, 0.0)",
            Rewrite("where(C, A / X, B)", "tf.where(C, A / tf.where(C, X, tf.ones_like(X)), B)"),
            "tf.where(x > 0, 1 / x, 0.0)",
            "tf.where(x > 0, 1 / tf.where(x > 0, x, tf.ones_like(x)), 0.0)",
        ),
        ("o = k.SGD(5.0)", Rewrite("SGD(L)", "F(L / 10)"), "k.SGD(5.0)", "k.SGD(5.0 / 10)"),
        ("y * log(p)", Rewrite("log(X)", "X - 1"), "log(p)", "(p - 1)"),
        ("tf.where(m, x, -np.inf)", Rewrite("-inf", "-1e9"), "-np.inf", "-1e9"),
    ],
)
def test_a_call_that_is_found_is_replaced(line: str, rewrite: Rewrite, before: str, after: str) -> None:
    assert example_of(line, [rewrite]) == Example(before, after)
    assert before in line
    ast.parse(after, mode="eval")


@pytest.mark.parametrize(
    "line",
    [
        None,
        "",
        "    )",
        "log",
        "y = log(a) + log(b)",
        "y = tf.math.log(x=p)",
        "y = tf.math.log(p, base=2)",
        "y = tf.math.log1p(p)",
        "y = " + "(" * 900 + "log(p)" + ")" * 900,
        "x" * 2000 + " = log(p)",
        f"log({'+'.join('a' * 490)})",
        "\0log(p)",
    ],
)
def test_where_the_call_is_not_certain_there_is_no_changed_line(line: str | None) -> None:
    assert example_of(line, [LOG]) is None


@pytest.mark.parametrize("each", ADVICE, ids=lambda each: each.words[:40])
def test_each_change_of_the_tables_is_python_that_differs(each: Advice) -> None:
    for rewrite in each.rewrites:
        line = f"y = {rewrite.before.replace('*R, **K', 'axis=0').replace('*R', 'r').replace('**K', 'k=1')}"
        example = example_of(line, [rewrite])
        assert example is not None and example.before is not None, rewrite
        ast.parse(line.replace(example.before, example.after))
        names = {node.id for node in ast.walk(ast.parse(rewrite.before)) if isinstance(node, ast.Name)}
        used = {node.id for node in ast.walk(ast.parse(rewrite.after)) if isinstance(node, ast.Name)}
        assert {name for name in used if len(name) == 1 and name.isupper()} <= names | {"F"}, rewrite
    if each.like is not None:
        ast.parse(each.like)
        assert each.example([]) == Example(None, each.like)
