"""The op types whose first output is a reference, which recipients may write to.

The runtime knows this from its registry of ops, which the viewer does not have. A test compares them.
"""

from __future__ import annotations

from typing import Final

_QUEUES: Final = ("Barrier", "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue", "Stack")
_READERS: Final = (
    *("FixedLengthRecordReader", "IdentityReader", "LMDBReader", "TFRecordReader", "TextLineReader"),
    "WholeFileReader",
)
_TABLES: Final = ("HashTable", "MutableDenseHashTable", "MutableHashTable", "MutableHashTableOfTensors")
_STORES: Final = ("ConditionalAccumulator", "SparseConditionalAccumulator", "TensorArray", "TensorArrayGrad")
_OPTIMIZERS: Final = (
    *("Adadelta", "Adagrad", "AdagradDA", "AdagradV2", "CenteredRMSProp", "Ftrl", "FtrlV2", "Momentum"),
    *("ProximalAdagrad", "ProximalGradientDescent", "RMSProp"),
)
_DENSE_OPTIMIZERS: Final = ("AdaMax", "Adam", "AddSign", "GradientDescent", "PowerSign")

#: Op types with a reference as first output.
REFERENCES: Final = frozenset(
    {
        *("Variable", "VariableV2", "TemporaryVariable", "StridedSliceAssign", "DebugGradientRefIdentity"),
        *("Assign", "AssignAdd", "AssignSub"),
        *(f"Scatter{kind}" for kind in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")),
        *(f"ScatterNd{kind}" for kind in ("Add", "Max", "Min", "Sub", "Update")),
        *(
            f"Ref{kind}"
            for kind in ("Enter", "Exit", "Identity", "Merge", "NextIteration", "Select", "Switch")
        ),
        *(f"Apply{name}" for name in (*_OPTIMIZERS, *_DENSE_OPTIMIZERS)),
        *(f"SparseApply{name}" for name in _OPTIMIZERS),
        *(*_QUEUES, *_READERS, *_TABLES, *_STORES),
    }
)
