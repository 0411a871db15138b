"""Writes code in the library that a file of the program uses: TensorFlow by its name there, or ``keras.ops``.

Takes code and sentences that name functions as ``tf.math.log``, and the text of a file. Code that needs a
function which the file cannot reach is None.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

#: A function of TensorFlow in a text.
_NAMED: Final = re.compile(r"(?<![\w.])tf((?:\.[A-Za-z_]\w*)+)")
#: Functions of ``keras.ops`` by their names in ``tf``; those that are missing here have none.
OPS: Final = {
    **{
        f"math.{name}": name
        for name in ("log", "log1p", "expm1", "rsqrt", "reciprocal", "divide_no_nan", "erfinv", "floor")
    },
    **{
        name: name
        for name in ("maximum", "minimum", "square", "sqrt", "exp", "where", "cast", "equal", "abs", "floor")
    },
    **{name: name for name in ("ones_like", "zeros_like", "size", "shape", "stack", "norm")},
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "clip_by_value": "clip",
    "eye": "eye",
    "linalg.cholesky": "cholesky",
    "linalg.inv": "inv",
    "linalg.lstsq": "lstsq",
    "linalg.solve": "solve",
    "math.is_finite": "isfinite",
    "math.is_inf": "isinf",
    "math.l2_normalize": "normalize",
    "math.log_sigmoid": "log_sigmoid",
    "math.reduce_std": "std",
    "math.reduce_variance": "var",
    "nn.log_softmax": "log_softmax",
    "nn.softmax": "softmax",
    "nn.softplus": "softplus",
    "pow": "power",
    "reduce_all": "all",
    "reduce_logsumexp": "logsumexp",
    "reduce_max": "max",
    "reduce_sum": "sum",
    "zeros": "zeros",
}


@dataclass(frozen=True)
class Dialect:
    """How a file names the functions of the libraries.

    Attributes:
      tensorflow: Its name for TensorFlow, such as ``tf``; None when it does not import it.
      keras_ops: Its name for ``keras.ops``; None when it has none.
      keras: Its name for Keras; None when it does not import it.
    """

    tensorflow: str | None = "tf"
    keras_ops: str | None = None
    keras: str | None = None

    def code(self, code: str) -> str | None:
        """Code with the names of the file; None when it needs a function that the file cannot reach."""
        names = [found[1][1:] for found in _NAMED.finditer(code)]
        written = self.words(code)
        is_reached = all(self._name(name) is not None for name in names)
        return written if is_reached else None

    def words(self, words: str) -> str:
        """Return a sentence with the names of the file, as far as it can reach the functions."""
        return _NAMED.sub(lambda found: self._name(found[1][1:]) or found[0], words)

    def _name(self, name: str) -> str | None:
        if self.tensorflow is not None:
            return f"{self.tensorflow}.{name}"
        if name.startswith("keras."):
            return None if self.keras is None else f"{self.keras}.{name.removeprefix('keras.')}"
        if name in ("float16", "float32", "float64"):
            return None if self.keras_ops is None else f'"{name}"'
        return None if self.keras_ops is None or name not in OPS else f"{self.keras_ops}.{OPS[name]}"


TENSORFLOW: Final = Dialect()


@lru_cache(maxsize=32)
def dialect_of(text: str | None) -> Dialect:
    """Return the dialect of a file by what it imports; that of TensorFlow where the text is not on record.

    Args:
      text: The file.
    """
    try:
        tree = None if text is None else ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        return TENSORFLOW
    tensorflow, keras, keras_ops = None, None, None
    for module, name in _imports(tree):
        if module in ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"):
            tensorflow = name
        elif module in ("keras", "tensorflow.keras"):
            keras = name
        elif module == "keras.ops":
            keras_ops = name
    if keras_ops is None and keras is not None:
        keras_ops = f"{keras}.ops"
    if tensorflow is None and keras is None and keras_ops is None:
        return Dialect(None)
    return Dialect(tensorflow, keras_ops, keras)


def _imports(tree: ast.Module) -> list[tuple[str, str]]:
    """Return the module and name of each import of a file."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(each.name, each.asname or each.name) for each in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(f"{node.module}.{each.name}", each.asname or each.name) for each in node.names]
    return found
