"""What a call of a session asks for, by names.

Takes the arguments of ``Session.run`` and of callables, and returns the names of fetches and targets, and the
values of feeds by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import ops

RunOptions: TypeAlias = config_pb2.RunOptions
RunMetadata: TypeAlias = config_pb2.RunMetadata
#: Runs a call with its options and metadata, each of which may be None.
Start: TypeAlias = Callable[[RunOptions | None, RunMetadata | None], object]


@dataclass(frozen=True)
class Asked:
    """A call of a session that is about to run.

    Attributes:
      what: What is called.
      start: Runs it.
      options: The ``RunOptions`` of the program; None if it gave none.
      metadata: The ``RunMetadata`` that the program wants filled; None if it wants none.
      fetches: The names of the tensors that it returns.
      targets: The names of the ops that it runs without returning them.
      feeds: The values that are fed, by name.
      raw: Fetches and feeds as the program gave them, for a ``watch_fn``.
    """

    what: str
    start: Start
    options: RunOptions | None = None
    metadata: RunMetadata | None = None
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    feeds: Mapping[str, object] = field(default_factory=dict)
    raw: tuple[object, object] = (None, None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is fetched and no op is run."""
        return not self.fetches and not self.targets

    @property
    def texts(self) -> tuple[str, str]:
        """Fetches and keys of feeds as Python prints them, as TensorFlow writes them into dump folders."""
        fetches, feeds = self.raw
        return repr(fetches), repr(feeds.keys() if feeds and isinstance(feeds, Mapping) else feeds)

    def run_plainly(self) -> object:
        """Run it as the program asked."""
        return self.start(self.options, self.metadata)


def of_run(call: Asked, fetches: object, feed_dict: object) -> Asked:
    """Return a call with what it asks for.

    Args:
      call: The call.
      fetches: As for ``Session.run``.
      feed_dict: The same.
    """
    leaves = list(_leaves(fetches))
    targets = [one for one in leaves if _is_target(one)]
    feeds = dict(feed_dict) if isinstance(feed_dict, Mapping) else {}
    return replace(
        call,
        fetches=tuple(_name(one) for one in leaves if not any(one is other for other in targets)),
        targets=tuple(map(_name, targets)),
        feeds=_Feeds({_name(key): value for key, value in feeds.items()}),
        raw=(fetches, feed_dict),
    )


def feeds_of(feed_list: Iterable[object], values: Sequence[object]) -> dict[str, object] | None:
    """Return the feeds of a call of a function of ``Session.make_callable``, as for :func:`of_run`.

    Args:
      feed_list: As for ``Session.make_callable``.
      values: The arguments of the call.
    """
    return dict(zip(map(_name, feed_list), values, strict=False)) or None


def _leaves(fetches: object) -> Iterator[object]:
    if isinstance(fetches, Mapping):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)):
        for one in fetches:
            yield from _leaves(one)
    elif fetches is not None:
        yield fetches


def _is_target(fetch: object) -> bool:
    if isinstance(fetch, (str, bytes)):
        # A name without a slot is that of an op.
        text = fetch.decode("utf-8", "replace") if isinstance(fetch, bytes) else fetch
        return ":" not in text
    return isinstance(fetch, ops.Operation)


def _name(element: object) -> str:
    if isinstance(element, bytes):
        return element.decode("utf-8", "replace")
    name = element if isinstance(element, str) else getattr(element, "name", None)
    return name if isinstance(name, str) else repr(element)


class _Feeds(Mapping[str, object]):
    """Values that are fed, by name; each is an array once it is looked at: few calls are."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> object:
        # Feeds of other kinds, such as sparse tensors and handles, are shown as they are.
        try:
            return np.asarray(self._values[name])
        except (ValueError, TypeError):
            return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
