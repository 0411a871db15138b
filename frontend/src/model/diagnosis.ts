/** The answer in words: what the first bad value is, what went into the op, and why that gives a bad value. */
import { grouped } from "../base/text";
import { type Belonging, belongingPhrases, NO_BELONGING } from "./belonging";
import { type Cause, type CauseInput, causeFromInfinity, knownCause, usualCauses } from "./causes";
import { badCount, badWords, isBad, type Summary } from "./health";
import { displayName, tensorName } from "./names";
import { bad, code, type Phrase, plain } from "./phrase";

/** A bad tensor and what is known of its making. */
export interface Suspect {
  readonly opType: string;
  /** Undefined for an eager op. */
  readonly opName: string | undefined;
  readonly slot: number;
  readonly functionName: string | undefined;
  /** What it is to the program, where that is known. */
  readonly belonging?: Belonging;
  readonly output: Summary;
  readonly inputs: readonly CauseInput[];
}

export interface Diagnosis {
  /** "`Log` (tensor `Log:0` in function `loss`) produced 200 −∞ out of 1,000 values." */
  readonly what: readonly Phrase[];
  /** "Its input `probs:0` held 200 zeros: the logarithm of 0 is −∞." */
  readonly why: readonly Phrase[];
  readonly help: string | undefined;
}

export function diagnose(suspect: Suspect): Diagnosis {
  const cause = causeOf(suspect);
  return {
    what: what(suspect),
    why: why(suspect, cause),
    help: (cause ?? usualCauses(suspect.opType)[0])?.help,
  };
}

function what(suspect: Suspect): readonly Phrase[] {
  const { opType, opName, slot, functionName, output, belonging = NO_BELONGING } = suspect;
  const where =
    opName === undefined
      ? [plain(" (run eagerly)")]
      : [
          plain(" (tensor "),
          code(tensorName(opName, slot)),
          ...(functionName ? [plain(" in function "), code(functionName)] : []),
          plain(")"),
        ];
  const about = belongingPhrases(opName ?? "", belonging);
  return [code(displayName(opType)), ...about, ...where, plain(" produced "), ...amount(output), plain(".")];
}

function amount(output: Summary): readonly Phrase[] {
  const n = badCount(output);
  if (output.size === undefined || n === 0) return [bad(badWords(output))];
  if (output.size === 1) return [bad(badWords(output).replace(/^1 /, "")), plain(", its only value")];
  return [bad(badWords(output)), plain(` out of ${grouped(output.size)} values`)];
}

/** Bad inputs come first: an op that was handed bad values is not where they began. */
function causeOf({ opType, inputs, output }: Suspect): Cause | undefined {
  const carrier = inputs.find(({ summary }) => isBad(summary));
  if (carrier === undefined) return knownCause(opType, inputs, output);
  const passedOn: Cause = { input: carrier, held: badWords(carrier.summary ?? output), because: "" };
  const anyNan = inputs.some(({ summary }) => (summary?.counts.nan ?? 0) > 0);
  if (anyNan || (output.counts.nan ?? 0) === 0) return passedOn;
  const turned = causeFromInfinity(opType, inputs, output);
  return turned === undefined ? passedOn : { input: carrier, held: passedOn.held, ...turned };
}

function why({ opType, inputs }: Suspect, cause: Cause | undefined): readonly Phrase[] {
  if (cause === undefined) return unexplained(opType, inputs);
  const { input, held, because } = cause;
  if (input === undefined) return [...finiteInputs(inputs), plain(capital(`${because}.`))];
  const head = [
    plain("Its input "),
    code(input.name),
    plain(isBad(input.summary) ? " already held " : " held "),
    bad(held ?? "them"),
  ];
  return [...head, plain(because === "" ? "." : `: ${because}.`)];
}

function unexplained(opType: string, inputs: readonly CauseInput[]): readonly Phrase[] {
  if (inputs.length === 0) return [code(opType), plain(" has no input: the value comes from here.")];
  const finite = finiteInputs(inputs);
  if (finite.length > 0 && inputs.every(({ summary }) => summary?.counts.zero !== undefined)) return finite;
  // What was counted did not say which of them it was.
  const usual = usualCauses(opType).map(({ because }) => because);
  const reasons = usual.length === 0 ? "" : `Known reasons: ${usual.join("; ")}.`;
  if (finite.length > 0) return reasons === "" ? finite : [...finite, plain(reasons)];
  return [plain(["What went into it was not measured.", reasons].filter(Boolean).join(" "))];
}

function finiteInputs(inputs: readonly CauseInput[]): readonly Phrase[] {
  const measured = inputs.length > 0 && inputs.every(({ summary }) => summary?.bad === false);
  return measured
    ? [plain(inputs.length === 1 ? "Its input was finite. " : "Its inputs were all finite. ")]
    : [];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
