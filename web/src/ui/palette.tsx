// The palette: finds pages, queues, schedules, a job or workflow by its id, and a few actions. Also the list of keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { may } from "../lib/api";
import { names, wantNames } from "../lib/names";
import { nextTheme } from "../lib/prefs";
import { pages } from "../lib/routes";
import { go, place } from "../lib/router";
import { Dialog } from "./dialog";
import { Icon } from "./icons";
import { copyText } from "./parts";
import { enqueueWith, helpOpen, navOpen, paletteOpen, togglePaused } from "./shell";
import { toast } from "./toast";

interface Entry {
  text: string;
  hint: string;
  icon: string;
  run: () => void;
}

const kId = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function entriesOf(text: string): Entry[] {
  const wanted = text.trim().toLowerCase();
  const all: Entry[] = [
    ...pages
      .filter((page) => !page.scope || may(page.scope))
      .map((page) => ({
        text: page.name,
        hint: `g ${page.key}`,
        icon: page.icon,
        run: () => go([page.path].filter(Boolean)),
      })),
    ...(may("submit") ? [{ text: "Enqueue a job", hint: "n", icon: "plus", run: () => (enqueueWith.value = {}) }] : []),
    { text: "Pause or go on", hint: "r", icon: "pause", run: togglePaused },
    { text: "Change the theme", hint: "t", icon: "light", run: nextTheme },
    { text: "Keys", hint: "?", icon: "info", run: () => (helpOpen.value = true) },
    ...names.value.queues.map((name) => ({
      text: name,
      hint: "queue",
      icon: "queues",
      run: () => go(["queues", name]),
    })),
    ...names.value.schedules.map((name) => ({
      text: name,
      hint: "schedule",
      icon: "schedules",
      run: () => go(["schedules", name]),
    })),
    ...names.value.types.map((name) => ({
      text: name,
      hint: "jobs of the type",
      icon: "jobs",
      run: () => go(["jobs"], { q: `type:${name}` }),
    })),
  ];
  const found = all
    .filter((entry) => entry.text.toLowerCase().includes(wanted))
    .sort((a, b) => Number(b.text.toLowerCase().startsWith(wanted)) - Number(a.text.toLowerCase().startsWith(wanted)));
  const one = (page: string, hint: string): Entry => ({
    text: wanted,
    hint,
    icon: page,
    run: () => go([page, wanted]),
  });
  const search = (what: string, run: () => void): Entry => ({
    text: `${what}: ${text.trim()}`,
    hint: "",
    icon: "filter",
    run,
  });
  if (kId.test(wanted)) found.unshift(one("jobs", "job"), one("workflows", "workflow"));
  else if (wanted !== "")
    found.push(
      search("Search jobs", () => go(["jobs"], { q: text.trim() })),
      search("Workflows named", () => go(["workflows"], { name: text.trim() })),
    );
  return found.slice(0, 40);
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    void wantNames();
    box.current?.showModal();
    return () => before?.focus?.();
  }, []);
  const entries = entriesOf(text);
  const close = (): void => {
    paletteOpen.value = false;
  };
  const choose = (entry: Entry | undefined): void => {
    close();
    entry?.run();
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = (at + (event.key === "ArrowDown" ? 1 : -1) + entries.length) % Math.max(1, entries.length);
      setAt(next);
      document.getElementById(`palette-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(entries[at]);
    }
  };
  return (
    <dialog
      ref={box}
      class="palette"
      aria-label="Find or do"
      onCancel={(event) => (event.preventDefault(), close())}
      onMouseDown={(event) => event.target === box.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Find or do"
        aria-expanded={entries.length > 0}
        aria-controls="palette-list"
        aria-activedescendant={entries[at] ? `palette-${at}` : undefined}
        placeholder="A page, a queue, an id, or words to search jobs by"
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={keys}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <li
            key={`${entry.hint} ${entry.text}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => setAt(index)}
            onClick={() => choose(entry)}
          >
            <Icon name={entry.icon} />
            <span class="clip">{entry.text}</span>
            <span class="hint">{entry.hint}</span>
          </li>
        ))}
      </ul>
    </dialog>
  );
}

const keyMap: [string, [string[], string][]][] = [
  [
    "Anywhere",
    [
      [["Ctrl K"], "Find or do"],
      [["n"], "Enqueue a job"],
      [["r"], "Pause, go on"],
      [["t"], "Change the theme"],
      [["?"], "These keys"],
      [["Esc"], "Close"],
    ],
  ],
  [
    "In a list",
    [
      [["/"], "To the filter"],
      [["j", "k"], "Next, previous row"],
      [["Enter"], "Open the row"],
      [["x"], "Choose the row"],
      [["c"], "Copy the id"],
    ],
  ],
];

function Help() {
  return (
    <Dialog title="Keys" onClose={() => (helpOpen.value = false)}>
      {[
        ...keyMap,
        [
          "Go to",
          pages.filter((page) => !page.scope || may(page.scope)).map((page) => [["g", page.key], page.name]),
        ] as (typeof keyMap)[number],
      ].map(([head, keys]) => (
        <section class="stack tight" key={head}>
          <h3>{head}</h3>
          <div class="keys">
            {keys.map(([press, what]) => (
              <div key={what}>
                <span>{what}</span>
                <span>
                  {press.map((key) => (
                    <>
                      {" "}
                      <kbd key={key}>{key}</kbd>
                    </>
                  ))}
                </span>
              </div>
            ))}
          </div>
        </section>
      ))}
    </Dialog>
  );
}

export function Overlays() {
  return (
    <>
      {paletteOpen.value && <Palette />}
      {helpOpen.value && <Help />}
    </>
  );
}

// --- The keys.

let after = "";

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("tr[data-row]")];
  if (rows.length === 0) return;
  const now = rows.findIndex((row) => row.classList.contains("at"));
  const next = Math.max(0, Math.min(rows.length - 1, now < 0 ? (step > 0 ? 0 : rows.length - 1) : now + step));
  rows[now]?.classList.remove("at");
  rows[next]!.classList.add("at");
  rows[next]!.scrollIntoView({ block: "nearest" });
}

function press(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    paletteOpen.value = !paletteOpen.peek();
    return;
  }
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  if (after === "g") {
    after = "";
    const page = pages.find((each) => each.key === event.key);
    if (page) {
      event.preventDefault();
      go([page.path].filter(Boolean));
    }
    return;
  }
  const row = document.querySelector<HTMLElement>("tr.at");
  switch (event.key) {
    case "g":
      after = "g";
      setTimeout(() => (after = ""), 1500);
      return;
    case "/":
      event.preventDefault();
      document.querySelector<HTMLInputElement>("[data-search]")?.focus();
      return;
    case "?":
      helpOpen.value = true;
      return;
    case "r":
      return togglePaused();
    case "t":
      return nextTheme();
    case "n":
      if (may("submit")) enqueueWith.value = {};
      return event.preventDefault();
    case "j":
      return moveRow(1);
    case "k":
      return moveRow(-1);
    case "x":
      row?.querySelector<HTMLInputElement>("[data-choose]")?.click();
      return;
    case "Enter":
      if (row && !target.closest("a, button, [role=button]")) location.hash = row.dataset.row!;
      return;
    case "c": {
      const [page, id] = place.peek().path;
      const shown = page === "jobs" || page === "workflows" ? (id ?? row?.dataset.row?.split("/").pop()) : undefined;
      if (shown) void copyText(shown).then(() => toast("The id is copied"));
      return;
    }
    case "Escape":
      navOpen.value = false;
      return;
  }
}

export const startKeys = (): void => addEventListener("keydown", press);
