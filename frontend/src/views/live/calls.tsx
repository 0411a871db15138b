/** The runs of sessions and the calls of functions so far: what each takes and gives, where, and how often. */
import { useState } from "preact/hooks";
import type { CallCount, StackLine } from "../../api/live";
import { basename, grouped } from "../../base/text";
import { type ThreadRow, threadRows } from "../../model/live/program";
import { displayName, shortDevice } from "../../model/names";
import { Button, Hint } from "../panel";
import type { With } from "../props";

const KINDS: Readonly<Record<CallCount["kind"], string>> = {
  function: "function",
  session_run: "session run",
  step: "eager ops",
  unknown: "call",
};

/** The columns of names. A function has no fetches and targets: a column that would be empty is left out. */
const COLUMNS = [
  { part: "feeds", title: "feeds or arguments" },
  { part: "fetches", title: "fetches" },
  { part: "targets", title: "targets" },
  { part: "devices", title: "devices" },
] as const;

type Columns = readonly (typeof COLUMNS)[number][];

export function Calls({ store }: With<"live" | typeof CallRow | typeof Threads>) {
  const state = store.live.state.value;
  const calls = state?.calls ?? [];
  if (calls.length === 0) return <Hint>The program has made no call yet.</Hint>;
  const columns = COLUMNS.filter(({ part }) => calls.some((call) => call[part].length > 0));
  const heads = ["what", ...columns.map(({ title }) => title), "count"];
  return (
    <div class="scroll short grow">
      <Threads store={store} />
      <table class="lp-calls wide" data-testid="live-calls">
        <thead>
          <tr>
            {heads.map((title) => (
              <th key={title} scope="col" class={title === "count" ? "num" : ""}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {calls.map((call, i) => (
            <CallRow
              key={i}
              store={store}
              call={call}
              columns={columns}
              isActive={call.last_number === state?.call?.number}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The threads that are inside of calls, and the stack of one: that of the paused one until another is chosen. */
function Threads({ store }: With<"live" | typeof ThreadTable | typeof Stack>) {
  const [chosen, setChosen] = useState<string>();
  const state = store.live.state.value;
  const rows = threadRows(state);
  const row =
    rows.find(({ thread }) => thread === chosen) ?? rows.find(({ does }) => does === "stopped here");
  const stack = row === undefined || row.does === "stopped here" ? (state?.pause?.stack ?? []) : row.stack;
  return (
    <>
      {rows.length > 0 && <ThreadTable rows={rows} chosen={row?.thread} choose={setChosen} />}
      {state?.pause !== undefined && (
        <Stack store={store} thread={row?.thread ?? state.call?.thread ?? ""} stack={stack} />
      )}
    </>
  );
}

interface TableProps {
  readonly rows: readonly ThreadRow[];
  readonly chosen: string | undefined;
  readonly choose: (thread: string) => void;
}

function ThreadTable({ rows, chosen, choose }: TableProps) {
  return (
    <table class="lp-calls wide" data-testid="live-threads">
      <thead>
        <tr>
          <th scope="col">thread</th>
          <th scope="col">in</th>
          <th scope="col">at</th>
          <th scope="col">now</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ thread, call, path, line, at, does }, i) => (
          <tr key={i} class={does === "stopped here" ? "lp-call-active" : ""} data-testid="live-thread">
            <td>
              <Button
                title={`Show the stack of ${thread}`}
                aria-pressed={thread === chosen}
                act={() => choose(thread)}
                text={thread}
              />
            </td>
            <td>{call}</td>
            <td class="dim" title={path}>
              {[at, path === "" ? "" : `${basename(path)}:${line}`].filter(Boolean).join(" · ")}
            </td>
            <td>{does}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface StackProps extends With<"focusPath"> {
  readonly thread: string;
  readonly stack: readonly StackLine[];
}

/** The lines of the program that a thread runs, innermost first. */
function Stack({ store, thread, stack }: StackProps) {
  if (stack.length === 0) return null;
  return (
    <ol class="lp-stack" aria-label={`Python stack of ${thread}, innermost first`}>
      {stack.map(({ path, line, function: name }, i) => (
        <li key={i} class="line" data-testid="live-stack-line">
          <Button
            class="link ellipsis"
            title={`Go to ${path}:${line}`}
            act={() => void store.focusPath(path, line)}
            text={`${basename(path)}:${line}`}
          />
          <span class="dim ellipsis">{name}</span>
        </li>
      ))}
    </ol>
  );
}

interface RowProps extends With<typeof NameButton | typeof Names> {
  readonly call: CallCount;
  readonly columns: Columns;
  /** Whether it is the current call. */
  readonly isActive: boolean;
}

function CallRow({ store, call, columns, isActive }: RowProps) {
  const name = displayName(call.name) || KINDS[call.kind];
  return (
    <tr
      class={isActive ? "lp-call-active" : ""}
      aria-current={isActive ? "step" : undefined}
      data-testid="live-call"
    >
      <td>
        {isActive && <span class="unseen">the current call: </span>}
        <NameButton store={store} name={call.name} text={name} /> <span class="dim">{KINDS[call.kind]}</span>
      </td>
      {columns.map(({ part }) =>
        part === "devices" ? (
          <td key={part} class="dim" title={call.devices.join("\n")}>
            {devicesText(call.devices)}
          </td>
        ) : (
          <Names key={part} store={store} names={call[part]} />
        ),
      )}
      <td class="num">{grouped(call.count)}</td>
    </tr>
  );
}

function devicesText(devices: readonly string[]): string {
  if (devices.length > 3) return `${devices.length} devices`;
  return devices.map((device) => shortDevice(device) ?? device).join(", ");
}

const SHOWN = 6;

function Names({ store, names }: With<typeof NameButton, { names: readonly string[] }>) {
  return (
    <td class="lp-names" title={names.join("\n")}>
      {names.slice(0, SHOWN).map((name, i) => (
        <span key={i}>
          <NameButton store={store} name={name} text={name} />
        </span>
      ))}
      {names.length > SHOWN && <span class="dim">and {names.length - SHOWN} more</span>}
    </td>
  );
}

interface NameProps extends With<"livePanel"> {
  /** A tensor "x:0", an argument "x: float32 [2]", or a function. */
  readonly name: string;
  readonly text: string;
}

/** The name as a way to what it names, if the recording has it. */
function NameButton({ store, name, text }: NameProps) {
  return (
    <Button
      class="link ellipsis"
      title={`Go to ${text}`}
      testId="live-call-name"
      act={() => void store.livePanel.focusName(name)}
      text={text}
    />
  );
}
