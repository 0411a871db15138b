/** All keys of the page, over it. */
import { KEY_TABLE } from "../model/key_table";
import { useModal } from "./hooks";
import { IconButton } from "./panel";
import type { With } from "./props";

export function KeyHelp({ store }: With<"dock.showKeys">) {
  const card = useModal();
  const close = () => store.dock.showKeys(false);
  return (
    <dialog ref={card} class="start-card" aria-labelledby="key-help" data-testid="key-help" onClose={close}>
      <header class="start-head level ends">
        <h2 id="key-help">All keys</h2>
        <IconButton label="Close" text="×" act={close} />
      </header>
      <table class="key-table wide">
        <thead>
          <tr>
            <th scope="col">key</th>
            <th scope="col">where</th>
            <th scope="col">what it does</th>
          </tr>
        </thead>
        <tbody>
          {KEY_TABLE.map(([key, where, what]) => (
            <tr key={`${key} ${where}`}>
              <th scope="row" class="mono">
                {plain(key)}
              </th>
              <td class="dim">{plain(where)}</td>
              <td>{plain(what)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </dialog>
  );
}

/** The words without the marks of code and of names. */
function plain(words: string): string {
  return words.replace(/[`*]/g, "");
}
