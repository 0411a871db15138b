/** Asks for the key that a command needs, when the page has none or another one. */
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { Access, KeyQuestion } from "../store/link/access";
import { useModal } from "./hooks";
import { Button } from "./panel";
import type { With } from "./props";

const SENTENCE: Readonly<Record<KeyQuestion, string>> = {
  missing: "Commands need the key that TensorBoard printed when it started.",
  wrong: "That is not the key of this TensorBoard, which it printed when it started.",
};

export function KeyPrompt({ store }: With<"access">) {
  const question = store.access.question.value;
  return question === undefined ? null : <Prompt access={store.access} question={question} />;
}

function Prompt({ access, question }: { readonly access: Access; readonly question: KeyQuestion }) {
  const card = useModal();
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    access.give(field.current?.value);
  };
  return (
    <dialog
      ref={card}
      class="key-prompt"
      aria-labelledby="key-prompt"
      data-testid="key-prompt"
      onCancel={() => access.give()}
    >
      <form onSubmit={submit}>
        <label id="key-prompt" for="key-field">
          {SENTENCE[question]} Paste it, or the link that was printed with it:
        </label>
        <Row field={field} cancel={() => access.give()} />
        <p class="dim">In a notebook, the program that waits prints the key.</p>
      </form>
    </dialog>
  );
}

interface RowProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly cancel: () => void;
}

function Row({ field, cancel }: RowProps) {
  return (
    <span class="key-row">
      {/* A password field would offer to keep the key permanently. */}
      <input
        ref={field}
        id="key-field"
        type="text"
        autocomplete="off"
        spellcheck={false}
        required
        data-testid="key-field"
      />
      <button type="submit" class="small" data-testid="key-give">
        OK
      </button>
      <Button class="small" testId="key-cancel" act={cancel} text="Cancel" />
    </span>
  );
}
