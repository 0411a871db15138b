"""One step towards the birth of a bad value: which of its feeds carried the badness, if any did.

Takes a value and the kind of bad elements that is followed. NaN and infinity are followed apart: a NaN whose
inputs had no NaN is born, even if they had infinities.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.values import UNMEASURED, BadKind, Measured, ValueFeed, ValueRef

#: Ops that never make NaN of finite inputs.
_NEVER_NAN: Final = op_kinds.COPIES | frozenset(
    """Add AddV2 Sub Mul Neg Abs Maximum Minimum Relu Select SelectV2 Exp Sigmoid Tanh Square Cast BiasAdd
    Sign Softplus Where Max Min AddN Relu6 LeakyRelu Elu MulNoNan DivNoNan AssignVariableOp""".split()
)
#: Ops that hardly ever make infinities of finite inputs.
_NEVER_INF: Final = op_kinds.COPIES | frozenset(
    """Neg Abs Maximum Minimum Relu Select SelectV2 Add AddV2 Sub Max Min BiasAdd AssignVariableOp""".split()
)
#: Ops that pass on +infinity only.
_POSITIVE_ONLY: Final = frozenset("Exp Expm1 Softplus Sqrt Log Log1p Relu Elu".split())
#: Ops that turn infinities into finite values.
_NOT_CARRYING: Final = frozenset("Reciprocal Inv Rsqrt".split())
#: Ops that pass on infinities of their first input only.
_FIRST_ONLY: Final = frozenset("RealDiv Div DivNoNan TruncateDiv FloorDiv Xdivy Mod FloorMod".split())
#: The scope of TensorFlow's log of a sum of exponentials, which subtracts the maximum first.
_LOG_SUM_EXP: Final = "ReduceLogSumExp/"
#: Ops between a logarithm and the exponentials that it is taken of.
_MAX_HOPS: Final = 4
#: Ops without a record between a value and what was recorded: a read and an assignment.
_MAX_UNMEASURED: Final = 2
#: Ops that are finite at infinity: what is bad in them was NaN before.
_BOUNDED: Final = frozenset("Tanh Sigmoid Erf Erfc Atan Sign Relu6".split())
#: Ops with one input whose elements each give one element.
_ELEMENTWISE: Final = frozenset(
    """Log Log1p Sqrt Rsqrt Exp Expm1 Square Reciprocal Inv Acos Asin Atanh Acosh Lgamma Digamma
    Erfinv Ndtri""".split()
)


class BirthStep(NamedTuple):
    """What is known of one value.

    Attributes:
      carriers: The feeds that had the badness already, with its kind.
      is_born: Whether the value made badness that none of its feeds had.
      from_infinities: For a NaN that is born: the feeds with infinities.
      is_certain: Whether all inputs were measured.
    """

    carriers: list[tuple[ValueFeed, BadKind | None]]
    is_born: bool
    from_infinities: list[ValueFeed]
    is_certain: bool = True


class BirthSteps:
    """The steps of a search; each is made once.

    Args:
      feeds: The values of the run.
    """

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._known: dict[tuple[ValueRef, BadKind | None], BirthStep] = {}

    @classmethod
    def of_feeds(cls, feeds: Feeds) -> BirthSteps:
        """Return the steps that all searches of a snapshot share."""
        return feeds.snapshot.share(f"{__name__}.{id(feeds)}", lambda: cls(feeds))

    def of(self, value: ValueRef, kind: BadKind | None) -> BirthStep:
        """Return the step from a value."""
        key = (value, kind)
        if key not in self._known:
            self._known[key] = self._make(value, kind)
        return self._known[key]

    def _make(self, value: ValueRef, kind: BadKind | None) -> BirthStep:
        if value.outside:
            return BirthStep([], True, [])
        feeds = self._feeds.of(value, kind)
        copies = [feed for feed in feeds if feed.is_copy]
        if copies:
            return BirthStep([(feed, kind) for feed in copies], False, [])
        numbers = [(feed, self._numbers(feed.value)) for feed in feeds]
        op_type = self._feeds.op_type(value)
        if op_type == "Log" and kind != "nan" and (infinity := self._exponent(value)) is not None:
            return BirthStep([(infinity, kind)], False, [])
        if kind is None:
            return self._of_unknown_kind(op_type, numbers)
        step = self._of_kind(op_type, kind, numbers)
        if step.is_born and op_type in (_NEVER_NAN if kind == "nan" else _NEVER_INF):
            step = self._of_any_turn(value, op_type, kind, step)
        return self._also_born(value, op_type, kind, numbers, step)

    def _of_any_turn(self, value: ValueRef, op_type: str, kind: BadKind, born: BirthStep) -> BirthStep:
        """Return the step with inputs of any turn of a loop, for an op that makes no badness itself."""
        feeds = self._feeds.of(value, kind, is_loose=True)
        step = self._of_kind(op_type, kind, [(feed, self._numbers(feed.value)) for feed in feeds])
        return step if not step.is_born else born

    def _exponent(self, logarithm: ValueRef) -> ValueFeed | None:
        """Return the −∞ of whose exponentials, all 0, a logarithm is: the −∞ is the same one."""
        summed = self._only_feed(logarithm)
        for _ in range(_MAX_HOPS):
            if summed is None or self._feeds.measured(summed.value).bad:
                return None
            op_type = self._feeds.op_type(summed.value)
            if op_type == "Exp":
                given = self._only_feed(summed.value)
                return given if given is not None and self._are_all_zero(summed.value, given) else None
            if op_type != "Sum" and op_type not in op_kinds.COPIES:
                return None
            summed = self._only_feed(summed.value)
        return None

    def _only_feed(self, value: ValueRef) -> ValueFeed | None:
        feeds = [feed for feed in self._feeds.of(value) if not feed.input_slot > 0]
        return feeds[0] if len(feeds) == 1 else None

    def _are_all_zero(self, exponentials: ValueRef, given: ValueFeed) -> bool:
        """Whether each exponential that is 0 is that of −∞: none is 0 because it is too small."""
        made, exponents = self._feeds.measured(exponentials), self._feeds.measured(given.value)
        if not exponents.bad:
            return False
        op = self._feeds.op_of(exponentials)
        if op is not None and _LOG_SUM_EXP in op.name:
            return True
        if made.size is None or made.finite_positive is None or not exponents.neg_inf:
            return False
        return made.size - made.finite_positive <= exponents.neg_inf

    def _numbers(self, value: ValueRef, hops: int = _MAX_UNMEASURED) -> Measured:
        """Return what was recorded of a feed; of an op without a record, such as a read of a variable by its
        reference, what was recorded of what it was made from, such as the last assignment."""
        measured = self._feeds.measured(value)
        if value.op < 0 or not hops:
            return measured
        inner = [self._numbers(feed.value, hops - 1) for feed in self._feeds.of(value)]
        bad = [each for each in inner if each.bad]
        return bad[0] if bad else inner[0] if len(inner) == 1 else UNMEASURED

    def _of_kind(self, op_type: str, kind: BadKind, numbers: list[tuple[ValueFeed, Measured]]) -> BirthStep:
        carrying = [
            (feed, each) for feed, each in numbers if each.bad and _carries(op_type, kind, feed, each)
        ]
        certain = [(feed, kind) for feed, each in carrying if each.has(kind)]
        if certain:
            return BirthStep([*certain], False, [])
        maybe: list[tuple[ValueFeed, BadKind | None]] = [
            (feed, None) for feed, each in carrying if each.has(kind) is None
        ]
        infinite = [
            feed for feed, each in numbers if kind == "nan" and each.bad and each.has_inf is not False
        ]
        if maybe and op_type not in op_kinds.NAN_ONLY:
            return BirthStep(maybe, False, [], False)
        unknown = [feed for feed, each in numbers if each.bad is None and not _is_discrete(feed)]
        never = _NEVER_NAN if kind == "nan" else _NEVER_INF
        if not infinite and unknown and op_type in never:
            return BirthStep([(feed, kind) for feed in unknown], False, [], len(unknown) == 1)
        return BirthStep([], True, infinite, not unknown)

    def _of_unknown_kind(self, op_type: str, numbers: list[tuple[ValueFeed, Measured]]) -> BirthStep:
        bad: list[tuple[ValueFeed, BadKind | None]] = [(feed, None) for feed, each in numbers if each.bad]
        if bad and op_type in _BOUNDED:
            return BirthStep([(feed, "nan") for feed, _ in bad], False, [])
        if bad and op_type in op_kinds.NAN_ONLY:
            return BirthStep([], True, [feed for feed, _ in bad], False)
        unknown = [feed for feed, each in numbers if each.bad is None]
        if not bad and unknown and op_type in _NEVER_NAN & _NEVER_INF:
            return BirthStep([(feed, None) for feed in unknown], False, [], False)
        return BirthStep(bad, not bad, [], not unknown)

    def _also_born(
        self,
        value: ValueRef,
        op_type: str,
        kind: BadKind,
        numbers: list[tuple[ValueFeed, Measured]],
        step: BirthStep,
    ) -> BirthStep:
        """Return the step with a birth, if an element-wise op gave more bad elements than it got."""
        if step.is_born or op_type not in _ELEMENTWISE or len(numbers) != 1:
            return step
        own, given = self._feeds.measured(value), numbers[0][1]
        had = given.nan if kind == "nan" else _infinite(given)
        has = own.nan if kind == "nan" else _infinite(own)
        if had is None or has is None or own.size != given.size or has <= had:
            return step
        return step._replace(is_born=True)


def _carries(op_type: str, kind: BadKind, feed: ValueFeed, measured: Measured) -> bool:
    """Whether an op passes badness of a kind on from an input."""
    if kind == "nan":
        return True
    if op_type in _NOT_CARRYING or (op_type in _FIRST_ONLY and feed.input_slot > 0):
        return False
    return op_type not in _POSITIVE_ONLY or measured.pos_inf is None or measured.pos_inf > 0


def _infinite(measured: Measured) -> int | None:
    if measured.neg_inf is None or measured.pos_inf is None:
        return None
    return measured.neg_inf + measured.pos_inf


def _is_discrete(feed: ValueFeed) -> bool:
    return feed.relation == "data" and not feed.name
