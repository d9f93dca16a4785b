// The address. The part after '#' says what the page shows, so the page works under any prefix, and a
// link shows the same to everybody.
import { signal } from "@preact/signals";

export interface Place {
  path: string[]; // decoded segments
  query: URLSearchParams;
}

function read(): Place {
  const text = location.hash.replace(/^#\/?/, "");
  const [path = "", query = ""] = split(text);
  return {
    path: path
      .split("/")
      .filter((part) => part !== "")
      .map(decode),
    query: new URLSearchParams(query),
  };
}

function split(text: string): [string, string] {
  const mark = text.indexOf("?");
  return mark < 0 ? [text, ""] : [text.slice(0, mark), text.slice(mark + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal<Place>(read());

addEventListener("hashchange", () => {
  place.value = read();
});

export type Query = Record<string, string | undefined>;

export function href(path: string[], query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") params.set(name, value);
  const text = params.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function go(path: string[], query: Query = {}): void {
  location.hash = href(path, query);
}

// Changes the query of the current page without an entry in the history.
export function setQuery(changes: Query): void {
  const now = place.peek();
  const query: Query = Object.fromEntries(now.query);
  Object.assign(query, changes);
  const next = href(now.path, query);
  history.replaceState(null, "", next);
  place.value = read();
}
