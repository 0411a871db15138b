"""What the program was last told to do, and so where it stops next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.live.messages.messages import Message, Pause
from tb_debugger_plugin.live.program.conditions import Condition, parse_condition
from tb_debugger_plugin.live.program.places import Target, described, make_target


@dataclass(frozen=True)
class Order:
    """What the program was told to do.

    Attributes:
      text: It in words, for `State.doing`.
      at_next_tensor: Whether the next tensor stops it.
      at_next_call: Whether the next call stops it.
      calls: How many calls it may make; 0 for any number.
      condition: What stops it when it holds for any tensor; None for nothing.
      target: The tensor that stops it; None for none.
      reason: Why it stops at the next tensor or call.
    """

    text: str = ""
    at_next_tensor: bool = False
    at_next_call: bool = False
    calls: int = 0
    condition: Condition | None = None
    target: Target | None = None
    reason: int = int(Pause.STEP)

    @property
    def looks_at_tensors(self) -> bool:
        """Whether a tensor may stop it."""
        return self.at_next_tensor or self.condition is not None or self.target is not None


STEP: Final = Order("step", at_next_tensor=True, at_next_call=True)
STEP_OVER: Final = Order("step_over", at_next_call=True)
PAUSE: Final = Order("pause", at_next_tensor=True, at_next_call=True, reason=int(Pause.ASKED))


def continuation(message: Message) -> Order:
    """Return the order that a `Continue` gives.

    Raises:
      UsageError: Its condition or its tensor is none.
    """
    words = ["continue"]
    calls = max(0, int(message.calls))
    if calls:
        words.append(f"{calls} call{'s' if calls > 1 else ''}")
    condition = parse_condition(message.condition) if message.condition.strip() else None
    if condition is not None:
        words.append(f"until {condition.text}")
    target = make_target(message.tensor) if message.HasField("tensor") else None
    if target is not None:
        words.append(f"to {described(message.tensor)}")
    return Order(" ".join(words), calls=calls, condition=condition, target=target)
