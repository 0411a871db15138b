"""Makes message classes from a serialised ``FileDescriptorSet``, which the package build writes.

Generated ``_pb2`` modules are not used because newer generators write version checks that fail on older
protobuf runtimes; a descriptor set works with all of them. The classes have a descriptor pool of their own,
so a process can use them together with TensorFlow's messages of the same shape.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


class Descriptors:
    """The messages of one proto.

    Args:
      path: The file of the descriptors.
      package: The package of the messages.

    Raises:
      ImportError: The file is missing.
    """

    def __init__(self, path: Path, package: str) -> None:
        self._package = package
        self._pool = descriptor_pool.DescriptorPool()
        try:
            serialized = path.read_bytes()
        except FileNotFoundError:
            raise ImportError(
                f"{path.name} is missing. The package build writes it: run `pip install -e .` in the "
                "checkout."
            ) from None
        for file in descriptor_pb2.FileDescriptorSet.FromString(serialized).file:
            self._pool.AddSerializedFile(file.SerializeToString())

    def message(self, name: str) -> Any:
        """Return the class of a message, such as ``DebugEvent``."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{self._package}.{name}"))

    def service(self, name: str) -> Any:
        """Return the descriptor of a service."""
        return self._pool.FindServiceByName(f"{self._package}.{name}")
