// The search language for the filter bar: splitting into words, and completion at the cursor. The
// server does the real parsing; see src/api/query.h.
import { kStates } from "./types";

export const kFields: [string, string][] = [
  ["state", "one or several states: dead,retrying"],
  ["queue", "a queue; email.* for all that begin so"],
  ["type", "a type of job"],
  ["tag", "one of the job's tags"],
  ["error", "the last error's type; ~ for its text"],
  ["worker", "who runs it"],
  ["attempt", "attempts: >=3"],
  ["priority", "a number: <0"],
  ["created", "a time: >2026-03-01T00:00:00Z"],
  ["run_at", "when it is due"],
  ["finished", "when it ended"],
  ["schedule", "the schedule that made it"],
  ["workflow", "the workflow that it belongs to: its id"],
  ["meta.", "a member of its meta"],
  ["payload.", "a path in its payload"],
  ["result.", "a path in its result"],
  ["id", "its id"],
];

export interface Word {
  text: string;
  start: number;
  end: number;
}

// Words are separated by spaces; quotes keep spaces together.
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let start = -1;
  let quoted = false;
  for (let i = 0; i <= text.length; ++i) {
    const c = text[i];
    if (c === undefined || (!quoted && c === " ")) {
      if (start >= 0) words.push({ text: text.slice(start, i), start, end: i });
      start = -1;
      continue;
    }
    if (start < 0) start = i;
    if (quoted && c === "\\") ++i;
    else if (c === '"') quoted = !quoted;
  }
  return words;
}

const kOperator = /(>=|<=|[:=~<>])/;

// Returns the field and values of a word, if it has an operator.
export function splitWord(word: string): { negated: boolean; field: string; operator: string; value: string } | null {
  const negated = word.startsWith("-");
  const rest = negated ? word.slice(1) : word;
  const found = kOperator.exec(rest);
  if (!found) return null;
  return {
    negated,
    field: rest.slice(0, found.index),
    operator: found[0],
    value: rest.slice(found.index + found[0].length),
  };
}

export const quote = (value: string): string =>
  /^[A-Za-z0-9._:/*-]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;

// Replaces the words of a field by one with this value; an empty value removes them.
export function withField(query: string, field: string, value: string): string {
  const kept = wordsOf(query)
    .map((word) => word.text)
    .filter((word) => {
      const split = splitWord(word);
      return !split || split.negated || split.field !== field;
    });
  if (value) kept.push(`${field}:${value}`);
  return kept.join(" ");
}

// Returns the value of a field's only positive word.
export function fieldOf(query: string, field: string): string | null {
  const found = wordsOf(query)
    .map((word) => splitWord(word.text))
    .filter(
      (split) => split && !split.negated && split.field === field && (split.operator === ":" || split.operator === "="),
    );
  return found.length === 1 ? found[0]!.value : null;
}

export interface Completion {
  insert: string; // replaces the word
  text: string;
  hint: string;
  more: boolean; // the cursor stays in the word
}

export function completionsOf(
  word: string,
  names: { queues: string[]; types: string[]; schedules: string[]; workers: string[] },
): Completion[] {
  const split = splitWord(word);
  if (!split) {
    const negated = word.startsWith("-") ? "-" : "";
    const begun = word.slice(negated.length).toLowerCase();
    return kFields
      .filter(([field]) => field.startsWith(begun))
      .map(([field, hint]) => ({
        insert: `${negated}${field}${field.endsWith(".") ? "" : ":"}`,
        text: `${field}${field.endsWith(".") ? "…" : ":"}`,
        hint,
        more: true,
      }));
  }
  const before = split.value.includes(",") ? split.value.slice(0, split.value.lastIndexOf(",") + 1) : "";
  const begun = split.value.slice(before.length).toLowerCase();
  const known: Record<string, readonly string[]> = {
    state: kStates,
    queue: names.queues,
    type: names.types,
    schedule: names.schedules,
    worker: names.workers,
  };
  return (known[split.field] ?? [])
    .filter((value) => value.toLowerCase().includes(begun) && value.toLowerCase() !== begun)
    .sort((a, b) => Number(b.toLowerCase().startsWith(begun)) - Number(a.toLowerCase().startsWith(begun)))
    .slice(0, 12)
    .map((value) => ({
      insert: `${split.negated ? "-" : ""}${split.field}${split.operator}${before}${quote(value)}`,
      text: value,
      hint: "",
      more: false,
    }));
}
