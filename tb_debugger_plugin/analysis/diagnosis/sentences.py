"""Writes a diagnosis: what the bad value is, and why the op gave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tb_debugger_plugin.analysis.diagnosis.around import Scene, source
from tb_debugger_plugin.analysis.diagnosis.causes import (
    Certainty,
    Proven,
    advice_for,
    causes_of,
    certainty_of,
    example_for,
    missing_of,
    words_for,
)
from tb_debugger_plugin.analysis.diagnosis.evidence import Input, Inputs
from tb_debugger_plugin.analysis.diagnosis.known import ANY, Cause
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import Phrase, Phrases, code, number, text
from tb_debugger_plugin.analysis.diagnosis.ranges import limit_words
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example
from tb_debugger_plugin.analysis.diagnosis.surroundings import KnownOp, KnownSurroundings, Surroundings
from tb_debugger_plugin.analysis.snapshot import JsonObject
from tb_debugger_plugin.analysis.values.bad_element import FirstBadElement
from tb_debugger_plugin.events.tensorflow_names import display_name, is_gradient


@dataclass(frozen=True)
class ModelRole:
    """The role of a tensor.

    Attributes:
      layer: Path of the Keras layer, such as "encoder/dense_1".
      variable: Path of the variable that the op is, reads or assigns.
      gradient_of: Paths of the variables whose gradient the tensor is.
    """

    layer: str | None = None
    variable: str | None = None
    gradient_of: Sequence[str] = ()

    def phrases(self, op_name: str) -> Phrases:
        """Return the role as part of a sentence, after the op: ", the gradient of `dense_1/kernel`,".

        Args:
          op_name: Name of the op; empty for an eager op.
        """
        if self.gradient_of:
            return (text(", the gradient of "), *_names(self.gradient_of), text(","))
        if self.variable is not None:
            return (text(" of the variable "), code(self.variable))
        if self.layer is not None:
            where = " in the backward pass of layer " if is_gradient(op_name) else " in layer "
            return (text(where), code(self.layer))
        return ()


def _names(names: Sequence[str]) -> Iterator[Phrase]:
    for i, name in enumerate(names):
        if i:
            yield text(" and ")
        yield code(name)


#: Ops whose results are never below 0.
_NOT_NEGATIVE: Final = frozenset(
    {"Abs", "EuclideanNorm", "Exp", "Relu", "Relu6", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Square"}
)


def with_known_signs(inputs: Sequence[Input], surroundings: Surroundings | None) -> list[Input]:
    """Return the inputs, those that cannot have negative elements with a count of 0 of them.

    Args:
      inputs: The inputs of the op.
      surroundings: What is around the op.
    """
    if surroundings is None:
        return list(inputs)
    return [
        _counted(each) if _is_not_negative(surroundings, slot) else each for slot, each in enumerate(inputs)
    ]


def _is_not_negative(surroundings: Surroundings, slot: int) -> bool:
    made = source(surroundings.op, slot)
    return made is not None and made.op.type in _NOT_NEGATIVE


def _counted(input_: Input) -> Input:
    numbers = input_.numbers
    if numbers is None or numbers.bad is None or numbers.counts.get("negative") is not None:
        return input_
    return replace(input_, numbers=replace(numbers, counts={**numbers.counts, "negative": 0}))


@dataclass(frozen=True)
class Subject:
    """The value that a diagnosis explains, and how it was computed.

    Attributes:
      op_type: Type of the op, or name of the function that Python called.
      op_name: Name of the op; None for an eager op.
      slot: Output slot.
      function: Name of the op's graph; None for an eager op, and for a graph without a name.
      role: What the tensor is to the model.
      output: Its numbers.
      inputs: The inputs of the op.
      around: What is around the op; None when that is not known.
      element: Where it is bad; None when that is not known.
    """

    op_type: str
    op_name: str | None
    slot: int
    function: str | None
    role: ModelRole
    output: Numbers
    inputs: Inputs = ()
    around: Surroundings | None = None
    element: FirstBadElement | None = None


@dataclass(frozen=True)
class ValueExplanation(JsonObject):
    """The answer in words.

    Attributes:
      what: The value: "`Log` (tensor `Log:0` in function `loss`) produced 200 −∞ out of 1,000 values. Its
        first bad element is [5, 3] of [100, 10]."
      why: The causes: "Its input `probs:0` held 200 zeros: the logarithm of 0 is −∞."
      help: What usually helps in this situation.
      example: A changed line of the program, or of one like it.
      certainty: How certain the causes are: ``proven`` by the recorded numbers, ``likely`` or ``possible``.
      missing: What would have to be recorded to know more.
      element: Where the value is bad; None when that is not known.
    """

    what: Phrases
    why: Phrases
    help: str | None
    example: Example | None = None
    certainty: Certainty = "likely"
    missing: str | None = None
    element: FirstBadElement | None = None


#: What is around an op of which nothing is known.
_NOTHING: Final = KnownSurroundings(KnownOp(""))
#: Writes the diagnosis of a value.
Explain: TypeAlias = Callable[[Subject], ValueExplanation]


def explain_bad(subject: Subject) -> ValueExplanation:
    """Explain a tensor with NaN or infinity.

    Args:
      subject: The tensor, its op, and its inputs. Without what is around the op, advice is general.
    """
    subject = replace(subject, inputs=with_known_signs(subject.inputs, subject.around))
    causes = causes_of(subject.op_type, subject.inputs, subject.output)
    advice = advice_for(causes, subject.output, subject.around, subject.function)
    scene = Scene(subject.around or _NOTHING, subject.output, subject.function)
    return ValueExplanation(
        (
            *subject_phrases(subject),
            text(" produced "),
            *_amount(subject.output),
            text(f".{_place(subject)}"),
        ),
        tuple(_proven(subject, causes.proven) if causes.proven else _possible(subject, causes.possible)),
        None if advice is None else words_for(advice, scene),
        None if advice is None else example_for(advice, scene),
        certainty_of(causes, subject.inputs, subject.output),
        missing_of(subject.op_type, causes, subject.inputs, subject.output),
        subject.element,
    )


def subject_phrases(subject: Subject) -> Phrases:
    """Return the op, its role and its place: "`Log` in layer `loss` (tensor `Log:0` in function `step`)"."""
    op = (code(display_name(subject.op_type)), *subject.role.phrases(subject.op_name or ""))
    if subject.op_name is None:
        return (*op, text(" (run eagerly)"))
    tensor = (text(" (tensor "), code(f"{subject.op_name}:{subject.slot}"))
    function = () if not subject.function else (text(" in function "), code(display_name(subject.function)))
    return (*op, *tensor, *function, text(")"))


def _place(subject: Subject) -> str:
    words = "" if subject.element is None else subject.element.words
    return words and f" {words}"


def _amount(output: Numbers) -> Phrases:
    words = output.bad_words
    if output.size is None or output.num_bad == 0:
        return (number(words),)
    if output.size == 1:
        return (number(words.removeprefix("1 ")), text(", its only value"))
    return (number(words), text(f" out of {output.size:,} values"))


def _proven(subject: Subject, causes: Sequence[Proven]) -> Iterator[Phrase]:
    # "Its input `a:0` held 3 zeros and its input `b:0` already held 1 +∞: 0 · ∞ is NaN."
    for i, proven in enumerate(causes):
        because = _clause(proven.cause, subject.output)
        if i:
            yield text(" ")
        if proven.blames:
            for j, blame in enumerate(proven.blames):
                yield text(" and its input " if j else "Its input ")
                yield from _holding(blame.input, blame.held)
            yield text(f": {because}.")
        else:
            is_computed = proven.cause.gives is not ANY
            finite = _finite_inputs(subject.inputs) if is_computed and not i else ""
            yield text(_joined(finite, f"{because[:1].upper()}{because[1:]}."))


def _possible(subject: Subject, causes: Sequence[Cause]) -> Iterator[Phrase]:
    inputs, guesses = subject.inputs, _guesses(causes, subject.output)
    carrier = next((each for each in inputs if each.is_bad), None)
    if carrier is not None:
        assert carrier.numbers is not None
        yield text("Its input ")
        yield from _holding(carrier, carrier.numbers.bad_words)
        yield text(_joined(".", guesses))
    elif not inputs and not guesses:
        yield code(subject.op_type)
        yield text(" has no input: it made the value itself.")
    else:
        yield text(_joined(_finite_inputs(inputs) or _not_measured(inputs), guesses))


def _not_measured(inputs: Inputs) -> str:
    if not inputs:
        return ""
    if len(inputs) == 1:
        return "Its input was not measured."
    is_some_known = any(each.is_finite is not None for each in inputs)
    return f"{'Some of its' if is_some_known else 'Its'} inputs were not measured."


def _clause(cause: Cause, output: Numbers) -> str:
    return cause.because.replace("the dtype", limit_words(output.dtype))


def _guesses(causes: Sequence[Cause], output: Numbers) -> str:
    reasons = "; ".join(dict.fromkeys(_clause(cause, output) for cause in causes))
    return f"Possible reason{'' if len(causes) == 1 else 's'}: {reasons}." if causes else ""


def _holding(input_: Input, held: str) -> Phrases:
    return (code(input_.name), text(" already held " if input_.is_bad else " held "), number(held))


def _finite_inputs(inputs: Inputs) -> str:
    """Return that the inputs were finite; empty when there are none, or when that is not known.

    A handle is no number: what the variable held, which an op that adds to it takes as well, is not measured.
    """
    numbers = [each for each in inputs if not _is_of(each, "resource", "variant")]
    if not numbers or not all(each.is_finite for each in numbers):
        return ""
    if len(numbers) < len(inputs):
        is_of_variable = any(_is_of(each, "resource") for each in inputs)
        held = "; what the variable held was not measured" if is_of_variable else ""
        return f"What was measured of its inputs was finite{held}."
    return "Its input was finite." if len(inputs) == 1 else "Its inputs were all finite."


def _is_of(input_: Input, *dtypes: str) -> bool:
    return input_.numbers is not None and input_.numbers.dtype in dtypes


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
