// A person's preferences in this browser. If storage is forbidden, they last as long as the tab.
import { signal } from "@preact/signals";

function stored(name: string): string | null {
  try {
    return localStorage.getItem(`millrace.${name}`);
  } catch {
    return null;
  }
}
function store(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`millrace.${name}`);
    else localStorage.setItem(`millrace.${name}`, value);
  } catch {
    // see above
  }
}

export type Theme = "system" | "light" | "dark";
const first = stored("theme");
export const theme = signal<Theme>(first === "light" || first === "dark" ? first : "system");

export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  store("theme", next === "system" ? null : next);
}

export function nextTheme(): void {
  const order: Theme[] = ["system", "light", "dark"];
  setTheme(order[(order.indexOf(theme.peek()) + 1) % order.length]!);
}

export interface SavedSearch {
  name: string;
  q: string;
}
function readSearches(): SavedSearch[] {
  try {
    const read = JSON.parse(stored("searches") ?? "[]") as SavedSearch[];
    return Array.isArray(read)
      ? read.filter((each) => typeof each?.name === "string" && typeof each?.q === "string").slice(0, 50)
      : [];
  } catch {
    return [];
  }
}
export const searches = signal<SavedSearch[]>(readSearches());
export function setSearches(next: SavedSearch[]): void {
  searches.value = next;
  store("searches", JSON.stringify(next));
}
