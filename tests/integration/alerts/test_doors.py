"""`reading`: the first bad value is the same through Python, `tbdbg`, the shell, the routes and the log.

Each program is one whose doors gave different answers. The oracle is the line that the program marks.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.cli.main import main
from tests.support.asking import Asker

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("the_log_waits_for_the_answer")]

V1 = tf.compat.v1


def nan_in_records(folder: Path) -> None:
    with tf.io.TFRecordWriter(str(folder)) as writer:
        for label in (1.0, np.nan, 2.0):
            value = tf.train.Feature(float_list=tf.train.FloatList(value=[label]))
            example = tf.train.Example(features=tf.train.Features(feature={"y": value}))
            writer.write(example.SerializeToString())

    def parse(record: tf.Tensor) -> tf.Tensor:
        return tf.io.parse_single_example(record, {"y": tf.io.FixedLenFeature([1], tf.float32)})  # here

    @tf.function
    def loss(example: dict[str, tf.Tensor]) -> tf.Tensor:
        return tf.reduce_mean(tf.square(example["y"]))

    for example in tf.data.TFRecordDataset(str(folder)).map(parse):
        loss(example)


def session_that_fetches_no_loss(folder: Path) -> None:
    with tf.Graph().as_default():
        x = V1.placeholder(tf.float32, [4, 3], name="x")
        w = V1.get_variable("w", [3, 2], initializer=V1.ones_initializer())
        p = tf.nn.softmax(tf.matmul(x, w) * np.array([1.0, -300.0], np.float32))
        loss = -tf.reduce_mean(tf.math.log(p))  # here
        train = V1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with V1.Session() as session:
            session.run(V1.global_variables_initializer())
            session.run(train, {x: np.ones([4, 3], np.float32)})


def nan_assigned(folder: Path) -> None:
    weight = tf.Variable(tf.ones([3]))
    double = tf.function(lambda: weight * 2.0)
    double()
    weight.assign([1.0, np.nan, 1.0])  # here
    double()


def nan_that_is_cast(folder: Path) -> None:
    @tf.function
    def bucket(x: tf.Tensor) -> tf.Tensor:
        root = tf.sqrt(x)  # here
        return tf.cast(root * 10.0, tf.int32)

    bucket(tf.constant([4.0, -1.0]))


def meant_mask(folder: Path) -> None:
    @tf.function
    def attend(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(x + tf.constant([0.0, -np.inf, 0.0]))

    attend(tf.ones([3]))


def doors(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What each door names first; empty when it names nothing."""
    capsys.readouterr()
    with tb_debugger_plugin.open_run(folder) as run:
        reason, origins = run.why(), run.origins()
    named = {"run.why": reason.headline if reason else ""}
    wrong = [origin for origin in origins if origin.category != "expected"]
    named["run.origins"] = wrong[0].headline if wrong else ""
    assert main(["why", str(folder), "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out).values()
    named["tbdbg why"] = facts["diagnosis"]["headline"] if facts["diagnosis"] else ""
    assert main(["shell", str(folder), "-c", "why"]) == 0
    named["shell"] = capsys.readouterr().out
    with Asker(folder) as page:
        answer = page.get("/diagnosis", run=".").json["diagnosis"]
        listed = page.get("/origins", run=".").json["origins"]
    named["/diagnosis"] = answer["headline"] if answer else ""
    named["/origins"] = next((one["headline"] for one in listed if one["category"] != "expected"), "")
    return named


def line_of(program: Callable[[Path], None]) -> str:
    """The file and line that the program marks."""
    lines, first = inspect.getsourcelines(program)
    (offset,) = [number for number, line in enumerate(lines) if line.rstrip().endswith("# here")]
    return f"{Path(__file__).name}:{first + offset}"


def recorded(program: Callable[[Path], None], folder: Path, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Records a program; returns what the log warns of."""
    with tb_debugger_plugin.record(folder, "FULL_HEALTH"):
        program(folder.with_suffix(".data"))
    return [each.message for each in caplog.records if each.levelno == logging.WARNING]


@pytest.mark.parametrize(
    "program", [nan_in_records, session_that_fetches_no_loss, nan_assigned, nan_that_is_cast]
)
def test_every_door_names_the_line_of_the_mistake(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    program: Callable[[Path], None],
) -> None:
    said = recorded(program, tmp_path / "logs", caplog)
    named = doors(tmp_path / "logs", capsys)
    headline = named["run.why"]
    assert headline.endswith(line_of(program))
    assert said == [f"First bad value: {headline}. Run `tbdbg why {tmp_path / 'logs'}` for the reason."]
    assert named.pop("shell").startswith(headline)
    assert set(named.values()) == {headline}


def test_no_door_names_a_mask_that_is_meant(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recorded(meant_mask, tmp_path / "logs", caplog) == []
    named = doors(tmp_path / "logs", capsys)
    assert "Softmax" not in named.pop("shell")
    assert set(named.values()) == {""}
