/** Formats numbers, times and paths for the page. */

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 12345 -> "12,345". */
export function grouped(n: number): string {
  return GROUPED.format(n);
}

/** At most four characters, for a table cell: 12345 -> "12k". Exact below 10 000. */
export function compact(n: number): string {
  if (n < 10_000) return String(n);
  for (const [unit, size] of [
    ["k", 1e3],
    ["M", 1e6],
    ["G", 1e9],
    ["T", 1e12],
  ] as const) {
    const scaled = n / size;
    if (scaled < 999.5) return `${scaled < 9.95 ? scaled.toFixed(1) : scaled.toFixed(0)}${unit}`;
  }
  return n.toExponential(0);
}

/** Four digits of a measured number: 0.123456 -> "0.1235", -12345678 -> "−1.235e+7". */
export function significant(n: number): string {
  const short = Number(n.toPrecision(4));
  const size = Math.abs(short);
  const text = size >= 1e6 || (size > 0 && size < 1e-4) ? short.toExponential() : String(short);
  return text.replace(/^-/, "−");
}

/** A number for a cell of a picture, at most seven characters or so: "0.123", "−1.2e+7", "NaN", "+∞". */
export function shortNumber(n: number): string {
  if (Number.isNaN(n)) return "NaN";
  if (!Number.isFinite(n)) return n > 0 ? "+∞" : "−∞";
  const text = String(Number(n.toPrecision(3)));
  return (text.length > 7 ? n.toExponential(1) : text).replace(/^-/, "−");
}

/** "1 value", "2 values", "1 box", "2 boxes". */
export function counted(n: number, singular: string, plural = `${singular}s`): string {
  return `${grouped(n)} ${n === 1 ? singular : plural}`;
}

/** Seconds since the epoch -> "14:03:07.250" in the reader's time zone. */
export function clock(seconds: number): string {
  const date = new Date(seconds * 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const millis = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}`;
}

/** Seconds -> "820 ms", "12.3 s", "4 min 05 s", "2 h 10 min". */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** Bytes -> "12.3 MB". */
export function bytes(n: number): string {
  for (const [unit, size] of [
    ["B", 1],
    ["kB", 1e3],
    ["MB", 1e6],
  ] as const) {
    if (n < size * 1000) return `${size === 1 ? n : (n / size).toFixed(1)} ${unit}`;
  }
  return `${(n / 1e9).toFixed(1)} GB`;
}

/** The last part of a path with slashes or backslashes. */
export function basename(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** The server takes regular expressions of up to 1000 characters. */
const MOST_NAMED = 450;

/** A regular expression (RE2) that matches only this text; of a very long text, only its end. */
export function exactly(text: string): string {
  const begin = text.length > MOST_NAMED ? "" : "^";
  return `${begin}${escaped(text.slice(-MOST_NAMED))}$`;
}

/** The text with the special characters of regular expressions escaped. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
