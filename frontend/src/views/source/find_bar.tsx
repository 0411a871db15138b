/** The search in the file that is shown: each occurrence is marked, and Enter goes from one to the next. */
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { grouped } from "../../base/text";
import type { ShownLine } from "../../model/source";
import { firstFrom, type Occurrence, occurrences } from "../../model/source_files";
import { useChange } from "../hooks";
import { IconButton } from "../panel";

interface Props {
  readonly lines: readonly ShownLine[];
  /** The row at which the search begins, from 1. */
  readonly from: number;
  /** How often the reader asked for the search; the field gets the keyboard again. */
  readonly times: number;
  /** Marks what was found in the code, and brings one of it into view. */
  readonly show: (found: readonly Occurrence[], active: number) => void;
  readonly close: () => void;
}

export function FindBar({ lines, from, times, show, close }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const found = useMemo(() => occurrences(lines, text), [lines, text]);
  useChange(() => field.current?.select(), [times]);
  useChange(() => show(found, active), [found, active]);
  useEffect(() => () => show([], 0), []);
  const type = (next: string) => {
    setText(next);
    setActive(firstFrom(occurrences(lines, next), from));
  };
  const go = (by: 1 | -1) => found.length > 0 && setActive((active + by + found.length) % found.length);
  return (
    <search class="find-bar line raised fixed ruled">
      <FindField
        field={field}
        label="Find in this file"
        testId="find-in-file"
        text={text}
        type={type}
        onKeyDown={(event) => takeKey(event, go, close)}
      />
      <span class="dim nowrap num" role="status" data-testid="find-count">
        {countWords(text, found, active)}
      </span>
      <IconButton label="Previous (Shift+Enter)" text="↑" off={found.length === 0} act={() => go(-1)} />
      <IconButton label="Next (Enter)" text="↓" off={found.length === 0} act={() => go(1)} />
      <IconButton label="Close (Escape)" text="×" act={close} />
    </search>
  );
}

interface FieldProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly label: string;
  readonly placeholder?: string;
  readonly testId: string;
  readonly text: string;
  readonly type: (text: string) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

/** Where a text to find is written. */
export function FindField({ field, label, placeholder = label, testId, text, type, onKeyDown }: FieldProps) {
  return (
    <input
      ref={field}
      class="framed grow slim"
      aria-label={label}
      placeholder={placeholder}
      data-testid={testId}
      maxLength={200}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={(event) => type(event.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}

function takeKey(event: KeyboardEvent, go: (by: 1 | -1) => void, close: () => void): void {
  if (event.isComposing) return;
  if (event.key === "Escape") close();
  else if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function countWords(text: string, found: readonly Occurrence[], active: number): string {
  if (text === "") return "";
  return found.length === 0 ? "not found" : `${grouped(active + 1)} of ${grouped(found.length)}`;
}
