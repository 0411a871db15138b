"""A program whose tensors have each dtype and rank that the value view shows.

``python -m tests.support.value_program FOLDER`` records it with our recorder, with `--tensorflow` with
TensorFlow's own. `VALUES` holds what each tensor is, so that a test knows the elements without reading the
recording. Each value goes through an `Identity` in a function, so it is a tensor of a graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.tf_types import EagerTensor

#: How often each function is called; the elements of `moving` change.
STEPS = 4
LARGE = 5000


def _bumps(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of both signs, each unlike its neighbours."""
    return (np.sin(np.arange(int(np.prod(shape))) * 0.7) * 3).reshape(shape)


def _with_bad(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    flat[[1, 4, 6]] = np.nan, np.inf, -np.inf
    return array


def large() -> np.ndarray:
    """A matrix of 100 MB: a wave, with one NaN, one infinity and one negative infinity."""
    rows, columns = np.ogrid[0:LARGE, 0:LARGE]
    matrix = (np.sin(rows / 300.0) + np.cos(columns / 200.0)).astype(np.float32)
    matrix[1234, 4321], matrix[10, 20], matrix[4000, 700] = np.nan, np.inf, -np.inf
    return matrix


#: By the name of its op: dtype and elements. The dtype is TensorFlow's name.
VALUES: dict[str, tuple[str, Callable[[], np.ndarray | np.generic]]] = {
    "half": ("float16", lambda: _with_bad(_bumps((6, 8)))),
    "brain": ("bfloat16", lambda: _with_bad(_bumps((6, 8)))),
    "eight": ("float8_e5m2", lambda: _bumps((4, 5))),
    "whole": ("int64", lambda: np.arange(24).reshape(4, 6) * 10**15 - 7),
    "truth": ("bool", lambda: np.arange(30).reshape(5, 6) % 3 == 0),
    "words": ("string", lambda: np.array([["abc", b"\xff\x00"], ["", "∞"]], object)),
    "wave": ("complex64", lambda: _bumps((3, 4)) + 1j * _bumps((3, 4)).T.reshape(3, 4)),
    "scalar": ("float32", lambda: np.float32(-2.5)),
    "vector": ("float32", lambda: _with_bad(_bumps((3000,)))),
    "matrix": ("float32", lambda: _with_bad(_bumps((32, 10)))),
    "cube": ("float32", lambda: _bumps((3, 5, 7))),
    "images": ("float32", lambda: _bumps((2, 3, 4, 5))),
    "five": ("float32", lambda: _bumps((2, 3, 2, 4, 5))),
    "empty": ("float32", lambda: np.zeros((0, 3))),
}


def run(*, with_large: bool) -> None:
    """Run the program; recording is on."""
    import tensorflow as tf

    arrays = {name: (dtype, make()) for name, (dtype, make) in VALUES.items()}
    if with_large:
        arrays["large"] = ("float32", large())

    @tf.function
    def shown() -> list[tf.Tensor]:
        small = ((name, *value) for name, value in arrays.items() if name != "large")
        return [tf.identity(_constant(array, dtype), name=name) for name, dtype, array in small]

    @tf.function
    def pass_on(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(x, name="large")

    @tf.function
    def moving(step: tf.Tensor) -> tf.Tensor:
        return tf.identity(step * tf.ones([2, 3]), name="moving")

    shown()
    if with_large:
        pass_on(tf.constant(arrays["large"][1]))
    for step in range(STEPS):
        moving(tf.constant(float(step) if step != 2 else np.nan))


def _constant(array: np.ndarray, dtype: str) -> EagerTensor:
    """A constant; TensorFlow makes those of small floats from larger ones."""
    import tensorflow as tf

    kind = tf.dtypes.experimental.float8_e5m2 if dtype == "float8_e5m2" else tf.as_dtype(dtype)
    if dtype in ("bfloat16", "float8_e5m2", "float16"):
        return tf.cast(tf.constant(array, tf.float32), kind)
    return tf.constant(array, kind)


def main(folder: str, *options: str) -> None:
    """Record the program into a folder."""
    if "--tensorflow" in options:
        import tensorflow as tf

        tf.debugging.experimental.enable_dump_debug_info(folder, "FULL_TENSOR", circular_buffer_size=-1)
        run(with_large=False)
        tf.debugging.experimental.disable_dump_debug_info()
        return
    import tb_debugger_plugin

    with tb_debugger_plugin.record(folder, mode="FULL_TENSOR", max_tensor_bytes=2**28):
        run(with_large="--small" not in options)


if __name__ == "__main__":
    main(*sys.argv[1:])
