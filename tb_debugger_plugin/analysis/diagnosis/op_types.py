"""Types of ops without the names of the libraries that compute them: ``_MklSoftmax`` is a ``Softmax``."""

from __future__ import annotations

import re
from typing import Final

_LIBRARY: Final = re.compile(r"^_(?:MklNative|Mkl)?(?:Fused)?(?=[A-Z])")
_RENAMED: Final = {"_FusedBatchNormEx": "FusedBatchNormV3", "_FusedBatchNormGradEx": "FusedBatchNormGradV3"}
#: Types that begin like those of a library, and are not.
_OWN: Final = frozenset({"_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv"})


def plain_type(op_type: str) -> str:
    """Return the type of the op that the program wrote."""
    if op_type in _OWN:
        return op_type
    return _RENAMED.get(op_type) or _LIBRARY.sub("", op_type)
