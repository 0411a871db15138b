"""Three values of each step to keep: those of the last layer with its gradients, or of the loss.

Eager ops have no names, so `eager` keeps four. Inside compiled steps no values are kept.
"""

from __future__ import annotations

#: The arguments of `KeepValues`, by step.
VALUES: dict[str, dict[str, str]] = {
    "example": {"name_regex": "^(Softmax|Log|Mean)$"},
    "mlp": {"layer_regex": "dense_2$", "op_regex": "MatMul$"},
    "cnn": {"layer_regex": "dense_3$", "op_regex": "MatMul$"},
    "gpt": {"layer_regex": "dense_12$", "op_regex": "MatMul$"},
    "eager": {"op_regex": "Relu$"},
}
