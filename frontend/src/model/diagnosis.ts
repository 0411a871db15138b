/** The answer in words: what the first bad value is, what went into the op, and why that gives a bad value. */
import { grouped } from "../base/text";
import { type Belonging, belongingPhrases, NO_BELONGING } from "./belonging";
import { type Cause, causesOf, type Reason } from "./causes";
import { type CauseInput, knownFinite } from "./evidence";
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
  const { sure, possible } = causesOf(suspect.opType, suspect.inputs, suspect.output);
  return {
    what: what(suspect),
    why:
      sure.length > 0
        ? sure.flatMap((cause, i) => proven(suspect, cause, i === 0))
        : guessed(suspect, possible),
    help: (sure[0] ?? possible[0])?.help,
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

/** "Its input `a:0` held 3 zeros and its input `b:0` already held 1 +∞: 0 · ∞ is NaN." */
function proven({ inputs }: Suspect, { blames, because }: Cause, isFirst: boolean): readonly Phrase[] {
  const space = plain(isFirst ? "" : " ");
  if (blames.length === 0)
    return [space, ...(isFirst ? finiteInputs(inputs) : []), plain(capital(`${because}.`))];
  const head = blames.flatMap((blame, i) => [
    plain(i === 0 ? "Its input " : " and its input "),
    ...holding(blame.input, blame.held),
  ]);
  return [space, ...head, plain(`: ${because}.`)];
}

function holding(input: CauseInput, held: string): readonly Phrase[] {
  return [code(input.name), plain(isBad(input.summary) ? " already held " : " held "), bad(held)];
}

/** An op that was handed bad values is not where they began; else what could be is said as no more than that. */
function guessed({ opType, inputs, output }: Suspect, possible: readonly Reason[]): readonly Phrase[] {
  const reasons = [...new Set(possible.map(({ because }) => because))].join("; ");
  const guesses =
    reasons === "" ? "" : `Possible ${possible.length === 1 ? "reason" : "reasons"}: ${reasons}.`;
  const carrier = inputs.find(({ summary }) => isBad(summary));
  if (carrier !== undefined) {
    const held = badWords(carrier.summary ?? output);
    return [plain("Its input "), ...holding(carrier, held), plain([".", guesses].filter(Boolean).join(" "))];
  }
  if (inputs.length === 0 && guesses === "")
    return [code(opType), plain(" has no input: the value comes from here.")];
  const finite = finiteInputs(inputs);
  if (finite.length > 0 || inputs.length === 0) return [...finite, plain(guesses)];
  const some = inputs.some((input) => knownFinite(input) !== undefined) ? "Some of what" : "What";
  return [plain([`${some} went into it was not measured.`, guesses].filter(Boolean).join(" "))];
}

function finiteInputs(inputs: readonly CauseInput[]): readonly Phrase[] {
  if (inputs.length === 0 || !inputs.every(knownFinite)) return [];
  return [plain(inputs.length === 1 ? "Its input was finite. " : "Its inputs were all finite. ")];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
