// JSON as text. Users' JSON is never parsed into numbers and written again, so 30 digits stay 30
// digits, and white space is kept. A strict reader on the server has checked all of it.

const kSpace = /\s/;

// Returns the index after the value that starts at `at`.
function endOfValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return endOfString(text, at);
  if (first !== "{" && first !== "[") {
    let end = at;
    while (end < text.length && !/[\s,}\]]/.test(text[end]!)) ++end;
    return end;
  }
  let depth = 0;
  for (let i = at; i < text.length; ++i) {
    const c = text[i];
    if (c === '"') i = endOfString(text, i) - 1;
    else if (c === "{" || c === "[") ++depth;
    else if ((c === "}" || c === "]") && --depth === 0) return i + 1;
  }
  return text.length;
}

function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; ++i) {
    if (text[i] === "\\") ++i;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && kSpace.test(text[at]!)) ++at;
  return at;
}

// Returns the members of an object, each with the text of its value.
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return members;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] === '"') {
    const nameEnd = endOfString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    at = skipSpace(text, nameEnd);
    at = skipSpace(text, at + 1); // the colon
    const end = endOfValue(text, at);
    members.set(name, text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] !== ",") break;
    at = skipSpace(text, at + 1);
  }
  return members;
}

export function elementsOf(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== "[") return elements;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== "]") {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return elements;
}

// Reads an object: its opaque members as text, the others as values.
export function readWithOpaque<T>(text: string, opaque: string[]): { value: T; raw: Record<string, string> } {
  const members = membersOf(text);
  const raw: Record<string, string> = {};
  const rest: string[] = [];
  for (const [name, value] of members) {
    if (opaque.includes(name)) raw[name] = value;
    else rest.push(`${JSON.stringify(name)}:${value}`);
  }
  return { value: JSON.parse(`{${rest.join(",")}}`) as T, raw };
}

export type Token = { kind: "key" | "string" | "number" | "word" | "punctuation"; text: string };

export interface Line {
  depth: number;
  tokens: Token[];
  // For a line that opens a value of several lines: the index of the line that closes it.
  closes?: number;
  // The number of members or elements between them.
  count?: number;
}

// Splits a value into lines, indented by depth; the tokens are unchanged.
export function linesOf(text: string, mostLines = 20_000): { lines: Line[]; cut: boolean } {
  const lines: Line[] = [];
  let line: Line = { depth: 0, tokens: [] };
  const open: { line: number; count: number }[] = [];
  let cut = false;
  let i = 0;
  let expectsKey = false;
  const endLine = (depth: number) => {
    if (line.tokens.length > 0) lines.push(line);
    line = { depth, tokens: [] };
  };
  while (i < text.length) {
    if (lines.length >= mostLines) {
      cut = true;
      break;
    }
    const c = text[i]!;
    if (kSpace.test(c)) {
      ++i;
    } else if (c === "{" || c === "[") {
      line.tokens.push({ kind: "punctuation", text: c });
      const next = skipSpace(text, i + 1);
      if (text[next] === "}" || text[next] === "]") {
        line.tokens.push({ kind: "punctuation", text: text[next]! });
        i = next + 1;
        continue;
      }
      open.push({ line: lines.length, count: 1 });
      endLine(open.length);
      expectsKey = c === "{";
      ++i;
    } else if (c === "}" || c === "]") {
      const opened = open.pop();
      endLine(open.length);
      line.tokens.push({ kind: "punctuation", text: c });
      if (opened) {
        lines[opened.line]!.closes = lines.length;
        lines[opened.line]!.count = opened.count;
      }
      ++i;
    } else if (c === ",") {
      line.tokens.push({ kind: "punctuation", text: "," });
      const top = open.at(-1);
      if (top) ++top.count;
      endLine(open.length);
      expectsKey = top !== undefined && lines[top.line]!.tokens.at(-1)!.text === "{";
      ++i;
    } else if (c === ":") {
      line.tokens.push({ kind: "punctuation", text: ": " });
      expectsKey = false;
      ++i;
    } else if (c === '"') {
      const end = endOfString(text, i);
      line.tokens.push({ kind: expectsKey ? "key" : "string", text: text.slice(i, end) });
      i = end;
    } else {
      const end = Math.max(i + 1, endOfValue(text, i));
      const word = text.slice(i, end);
      line.tokens.push({ kind: /^-?[0-9]/.test(word) ? "number" : "word", text: word });
      i = end;
    }
  }
  endLine(0);
  return { lines, cut };
}

// Returns why a text is not JSON; null if it is.
export function faultOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "this is not JSON";
  }
}
