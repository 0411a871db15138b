"""`analysis/diagnosis/rewriting.py`: changed lines are right, or there are none."""

from __future__ import annotations

import ast
import re

import ml_dtypes
import numpy as np
import pytest

from tb_debugger_plugin.analysis.diagnosis import advice, dialect
from tb_debugger_plugin.analysis.diagnosis.advice import Advice
from tb_debugger_plugin.analysis.diagnosis.causes import CAUSES, PATTERNS
from tb_debugger_plugin.analysis.diagnosis.dialect import dialect_of
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example, Rewrite, example_of, with_numbers

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
        example = example_of(line, [rewrite], "float16")
        assert example is not None and example.before is not None, rewrite
        ast.parse(line.replace(example.before, example.after))
        names = {node.id for node in ast.walk(ast.parse(rewrite.before)) if isinstance(node, ast.Name)}
        used = {node.id for node in ast.walk(ast.parse(rewrite.after)) if isinstance(node, ast.Name)}
        assert {name for name in used if len(name) == 1 and name.isupper()} <= names | {"F"}, rewrite
    if each.like is not None:
        ast.parse(each.like)
        assert each.example([]) == Example(None, with_numbers(each.like))


@pytest.mark.parametrize(
    "dtype, after",
    [
        ("float32", "tf.sqrt(x + 1e-12) * 1e9"),
        (None, "tf.sqrt(x + 1e-12) * 1e9"),
        ("float16", "tf.sqrt(x + 0.0001) * 30000.0"),
        ("bfloat16", "tf.sqrt(x + 1e-12) * 1e9"),
    ],
)
def test_numbers_fit_the_dtype(dtype: str | None, after: str) -> None:
    found = example_of("tf.sqrt(x)", [Rewrite("sqrt(X)", "tf.sqrt(X + EPSILON) * MASK")], dtype)
    assert found is not None and found.after in (after, f"({after})")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_no_number_is_rounded_away_in_its_dtype(dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype, None) or np.dtype(dtype).type
    numbers = {
        name: float(with_numbers(name, dtype)) for name in ("EPSILON", "LEAST", "MASK", "NEAR", "SMALL")
    }
    assert all(0 < float(kind(number)) < float("inf") for number in numbers.values())
    assert float(kind(1.0 - numbers["NEAR"])) < 1.0
    assert np.isfinite(float(kind(numbers["MASK"])) + float(kind(numbers["MASK"])) / 2)


@pytest.mark.parametrize(
    "line, is_repeated",
    [
        ("tf.linalg.cholesky(k)", True),
        ("tf.linalg.cholesky(tf.matmul(a, b))", True),
        ("tf.linalg.cholesky(self.kernel[0])", True),
        ("tf.linalg.cholesky(covariance())", False),
        ("tf.linalg.cholesky(self.kernel(x))", False),
        ("tf.linalg.cholesky(tf.random.normal([3, 3]))", False),
    ],
)
def test_a_call_of_the_programs_own_is_not_written_twice(line: str, is_repeated: bool) -> None:
    assert (example_of(line, advice.JITTER.rewrites) is not None) is is_repeated


#: Functions that Keras does not have.
_ONLY_TENSORFLOW = {"tf.linalg.pinv", "tf.linalg.sqrtm", "tf.math.xlog1py", "tf.math.xlogy"}


@pytest.mark.parametrize("each", ADVICE, ids=lambda each: each.words[:40])
def test_advice_for_a_file_of_keras_names_its_functions(each: Advice) -> None:
    for text in (each.words, each.like or "", *(rewrite.after for rewrite in each.rewrites)):
        written = dialect_of("import keras").words(text)
        assert set(re.findall(r"\btf\.[\w.]*\w", written)) <= _ONLY_TENSORFLOW, written


@pytest.mark.tensorflow
def test_the_functions_of_keras_exist() -> None:
    keras = pytest.importorskip("keras")
    assert [name for name in dialect.OPS.values() if not hasattr(keras.ops, name)] == []


@pytest.mark.parametrize(
    "text, code, written",
    [
        (None, "tf.sqrt(x)", "tf.sqrt(x)"),
        ("not python (", "tf.sqrt(x)", "tf.sqrt(x)"),
        ("import tensorflow as tf", "tf.sqrt(x)", "tf.sqrt(x)"),
        ("import tensorflow", "tf.sqrt(x)", "tensorflow.sqrt(x)"),
        ("import tensorflow.compat.v1 as tf1", "tf.math.log(x)", "tf1.math.log(x)"),
        ("import keras", "tf.reduce_sum(x)", "keras.ops.sum(x)"),
        ("from keras import ops", "tf.clip_by_value(x, 0, 1)", "ops.clip(x, 0, 1)"),
        ("import keras", "tf.math.xlogy(x, y)", None),
        ("import keras", "tf.keras.optimizers.SGD(1)", "keras.optimizers.SGD(1)"),
        ("import keras", "tf.cast(x, tf.float32)", 'keras.ops.cast(x, "float32")'),
        ("import keras\nimport tensorflow as tf", "tf.math.xlogy(x, y)", "tf.math.xlogy(x, y)"),
        ("import numpy as np", "tf.sqrt(x)", None),
        ("import numpy as np", "x / (y + 1e-7)", "x / (y + 1e-7)"),
    ],
)
def test_code_is_written_in_the_library_of_the_file(text: str | None, code: str, written: str | None) -> None:
    assert dialect_of(text).code(code) == written
