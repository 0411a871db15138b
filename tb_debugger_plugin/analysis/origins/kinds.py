"""Says what was born: NaN or an infinity.

Takes a birth. Where the mode of the recording does not tell them apart, the kind is the likely one.
"""

from __future__ import annotations

from tb_debugger_plugin.analysis.origins import op_kinds
from tb_debugger_plugin.analysis.origins.births import Birth
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.values import BadKind, Value


class Kinds:
    """The kinds of births of one run.

    Args:
      feeds: Its values.
    """

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._snapshot = feeds.snapshot

    def of(self, birth: Birth) -> tuple[BadKind, bool]:
        """Return the kind, and whether it is certain."""
        shown = birth.entry
        measured = self._feeds.measured(shown)
        is_told = measured.has_nan is not None or self._was_read_as(birth)
        is_certain = birth.kind is not None and is_told
        if (
            birth.kind is not None
            and measured.nan
            and not birth.meant_inputs
            and self._has_good_inputs(shown)
        ):
            infinite = (measured.neg_inf or 0) + (measured.pos_inf or 0)
            return ("nan" if measured.nan >= infinite else "inf"), is_certain
        if birth.kind is not None:
            return birth.kind, is_certain
        return self._likely_kind(birth.value), False

    def _was_read_as(self, birth: Birth) -> bool:
        """Whether what was not measured itself, such as an assignment, was measured where it came next."""
        known = (self._feeds.measured(value) for (value, _), _ in birth.chain()[::-1])
        nearest = next((each for each in known if each.bad is not None), None)
        return nearest is not None and birth.kind is not None and nearest.has(birth.kind) is True

    def _has_good_inputs(self, value: Value) -> bool:
        return not any(self._feeds.measured(feed.value).bad for feed in self._feeds.of(value))

    def _likely_kind(self, value: Value) -> BadKind:
        """Return what ops of this type mostly make."""
        op, op_type = self._feeds.op_of(value), self._feeds.op_type(value)
        if op is not None and op_type == "Mean":
            # The mean over nothing is NaN; over something, its sum overflows.
            shapes = [
                self._snapshot.catalog.statics.get(each) for each in self._feeds.structure.inputs(op.number)
            ]
            dims = None if not shapes or shapes[0] is None else self._snapshot.catalog.dims(shapes[0].shape)
            return "inf" if dims is not None and all(dims) else "nan"
        return "inf" if op_type in op_kinds.MOSTLY_INF else "nan"
