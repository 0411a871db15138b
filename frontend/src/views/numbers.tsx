/** The numbers and names of tensors, as all views show them, and the sentences of the server. */
import type { WirePhrase } from "../api/answers";
import { never } from "../base/loaded";
import { compact, counted, grouped } from "../base/text";
import { badWords, KINDS, numericsWords, type Summary, shares, summaryWords } from "../model/health";
import type { Target } from "../model/neighbourhood";
import { type Phrase, phrasesOf, proseOf } from "../model/phrases";
import { Button } from "./panel";

/** The colour of a kind of number in bars and keys. */
export const inkOf = (name: string) => `var(--bar-${name})`;

/** A bar with a part for each kind of number, in proportion. */
export function HealthBar({ summary }: { readonly summary: Summary }) {
  const parts = shares(summary);
  if (parts.length === 0) return null;
  return (
    <span class="bar" aria-hidden="true">
      {parts.map(({ name, share }) => (
        <i key={name} style={{ width: `${share * 100}%`, background: inkOf(name) }} />
      ))}
    </span>
  );
}

/** Six cells of a table row above a bar; one wide cell when the mode has no counts. */
export function Counts({ summary }: { readonly summary: Summary }) {
  const known = KINDS.some(({ name }) => summary.counts[name] !== undefined);
  if (!known) {
    const text = summary.bad === true ? "NaN or ∞" : summary.bad === false ? "no NaN or ∞" : "not measured";
    return (
      <span class={`counts level nowrap counts-none ${summary.bad ? "bad" : ""}`} role="gridcell">
        {text}
      </span>
    );
  }
  return (
    <span class="counts level nowrap" role="gridcell" title={summaryWords(summary)}>
      {KINDS.map(({ name, bad }) => (
        <Count key={name} n={summary.counts[name]} bad={bad} />
      ))}
      <HealthBar summary={summary} />
    </span>
  );
}

function Count({ n, bad }: { readonly n: number | undefined; readonly bad: boolean }) {
  if (n === undefined) return <span class="count none">–</span>;
  const kind = n === 0 ? "none" : bad ? "bad" : "";
  return <span class={`count ${kind}`}>{compact(n)}</span>;
}

/** The heads of the six cells, each with the colour of its part of the bar. */
export function CountHeads() {
  return (
    <span
      class="counts level nowrap"
      role="columnheader"
      aria-label="How many values are −∞, negative, 0, positive, +∞, NaN"
    >
      {KINDS.map(({ name, symbol }) => (
        <span key={name} class="count">
          {symbol}
          <i class="key" style={{ background: inkOf(name) }} />
        </span>
      ))}
    </span>
  );
}

/** "[100, 10] float32", or the number of values when the shape is not known. */
export function ShapeWords({ summary }: { readonly summary: Summary }) {
  const size = summary.size === undefined ? undefined : `${grouped(summary.size)} values`;
  const text = [summary.shape ?? size, summary.dtype].filter(Boolean).join(" ");
  return (
    <span class="dim ellipsis" title={text}>
      {text}
    </span>
  );
}

/** "94 −∞", "finite", or the number of zeros, because they are a frequent cause; after a bar. */
export function Verdict({ summary }: { readonly summary: Summary | undefined }) {
  if (summary?.bad === undefined) return <span class="verdict dim">not measured</span>;
  return (
    <span class="verdict" title={summaryWords(summary)}>
      <HealthBar summary={summary} />
      {summary.bad ? <span class="bad">{badWords(summary)}</span> : <GoodWords summary={summary} />}
    </span>
  );
}

/** "min −2.5", "max 3" and so on, when they are measured. */
export function NumericsWords({ summary }: { readonly summary: Summary | undefined }) {
  const words = summary === undefined ? [] : numericsWords(summary);
  if (words.length === 0) return null;
  return (
    <span class="numerics dim" title={words.join(", ")}>
      {words.map((word) => (
        <span key={word}>{word}</span>
      ))}
    </span>
  );
}

function GoodWords({ summary }: { readonly summary: Summary }) {
  const zeros = summary.counts.zero ?? 0;
  const all = zeros > 0 && zeros === summary.size;
  if (zeros === 0) return <span class="good">finite</span>;
  return <span class="zeros bold">{all ? "all zero" : counted(zeros, "zero")}</span>;
}

interface WordsProps {
  readonly phrases: readonly WirePhrase[];
  readonly follow: (target: Target) => void;
}

/** Sentences of the server. */
export function Words({ phrases, follow }: WordsProps) {
  return (
    <>
      {phrasesOf(phrases).map((phrase, i) => (
        <PhraseWords key={i} phrase={phrase} follow={follow} />
      ))}
    </>
  );
}

/** Plain sentences of the server, with code in backticks. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <>
      {proseOf(text).map((part, i) => (part.kind === "code" ? <code key={i}>{part.text}</code> : part.text))}
    </>
  );
}

interface PhraseProps {
  readonly phrase: Phrase;
  readonly follow: (target: Target) => void;
}

export function PhraseWords({ phrase, follow }: PhraseProps) {
  switch (phrase.kind) {
    case "text":
      return <>{phrase.text}</>;
    case "code":
      return <code>{phrase.text}</code>;
    case "number":
      return <b class="bad">{phrase.text}</b>;
    case "link":
      return <Button testId="phrase-link" act={() => follow(phrase.target)} text={phrase.text} />;
    default:
      return never(phrase);
  }
}

/** A name whose end matters most: in a narrow place, the scope before the last slash is cut first. */
export function TensorName({ name }: { readonly name: string }) {
  const cut = name.lastIndexOf("/") + 1;
  return (
    <span class="tensor-name" title={name}>
      {cut > 0 && <span class="scope">{name.slice(0, cut)}</span>}
      <span class="leaf">{name.slice(cut)}</span>
    </span>
  );
}
