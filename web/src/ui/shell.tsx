// The frame around every page.
import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { may, session, signOut } from "../lib/api";
import { duration } from "../lib/format";
import { liveState, lostSince, now, paused, refreshAll } from "../lib/live";
import { nextTheme, theme } from "../lib/prefs";
import { pages } from "../lib/routes";
import { href, place } from "../lib/router";
import { Button } from "./parts";
import { Icon } from "./icons";

export const navOpen = signal(false);
export const paletteOpen = signal(false);
export const helpOpen = signal(false);
// null: the drawer is closed; else its initial values.
export const enqueueWith = signal<Partial<Draft> | null>(null);
export interface Draft {
  type: string;
  queue: string;
  payload: string;
  priority: string;
  delay: string;
  attempts: string;
  unique: string;
  tags: string;
}

export function togglePaused(): void {
  paused.value = !paused.value;
  if (!paused.value) refreshAll();
}

function Brand() {
  return (
    <a class="brand" href={href([])}>
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" fill="var(--accent)" />
        <g fill="none" stroke="var(--on-accent)" stroke-width="2.4" stroke-linecap="round">
          <circle cx="16" cy="14" r="6.2" />
          <path d="M16 4.8v18.4M6.8 14h18.4M9.5 7.5l13 13M22.5 7.5l-13 13" />
          <path d="M4 26.5c3 0 3-1.6 6-1.6s3 1.6 6 1.6 3-1.6 6-1.6 3 1.6 6 1.6" />
        </g>
      </svg>
      Millrace
    </a>
  );
}

const liveTexts = { live: "Live", polling: "Every 2 s", connecting: "Connecting", lost: "Not connected" };
const liveTitles = {
  live: "What you see is at most a second old. Press to pause.",
  polling: "This server sends no stream, so the page asks every two seconds. Press to pause.",
  connecting: "The stream of events is being opened. Press to pause.",
  lost: "The server does not answer; this page tries again and again. Press to pause.",
};

function Live() {
  const state = paused.value ? "paused" : liveState.value;
  return (
    <button
      type="button"
      class={`live ${state}`}
      aria-pressed={paused.value}
      title={paused.value ? "Nothing changes here until you go on." : liveTitles[liveState.value]}
      onClick={togglePaused}
    >
      <span class="dot" />
      {paused.value ? "Paused" : liveTexts[liveState.value]}
      <Icon name={paused.value ? "play" : "pause"} />
    </button>
  );
}

function Nav() {
  const current = place.value.path[0] ?? "";
  const groups = [...new Set(pages.map((page) => page.group))];
  return (
    <nav class="nav" aria-label="Pages">
      {groups.map((group) => (
        <>
          {group && <h2>{group}</h2>}
          {pages
            .filter((page) => page.group === group && (!page.scope || may(page.scope)))
            .map((page) => (
              <a
                key={page.path}
                href={href([page.path].filter(Boolean))}
                aria-current={current === page.path ? "page" : undefined}
                onClick={() => (navOpen.value = false)}
              >
                <Icon name={page.icon} />
                {page.name}
              </a>
            ))}
        </>
      ))}
    </nav>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const { value: who } = session;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}
      >
        To the content
      </a>
      {navOpen.value && (
        <button type="button" class="scrim" aria-label="Close the menu" onClick={() => (navOpen.value = false)} />
      )}
      <div class="app">
        <header class={`side ${navOpen.value ? "open" : ""}`}>
          <Brand />
          {may("submit") && (
            <Button icon="plus" onClick={() => ((enqueueWith.value = {}), (navOpen.value = false))}>
              Enqueue a job
            </Button>
          )}
          <Nav />
          <div class="side-end">
            {who?.signed_in && (
              <div class="row apart">
                <span class="clip small soft" title={`Scopes: ${who.scopes.join(", ")}`}>
                  {who.name}
                </span>
                {who.guard && <Button kind="quiet" size="tiny" icon="door" label="Sign out" onClick={signOut} />}
              </div>
            )}
            <div class="row apart">
              <Live />
              <span class="row" style={{ gap: 0 }}>
                <Button kind="quiet" icon={theme.value} label={`Theme: ${theme.value}`} onClick={nextTheme} />
              </span>
            </div>
          </div>
        </header>
        <main class="main" id="main" tabIndex={-1}>
          {liveState.value === "lost" && !paused.value && (
            <div class="lost-bar" role="alert">
              <Icon name="warn" />
              The server does not answer. What you see is from {duration(
                now.value - (lostSince.value ?? now.value),
              )}{" "}
              ago; the page goes on by itself.
            </div>
          )}
          <div class="inner">{children}</div>
        </main>
      </div>
    </>
  );
}

// The head of a page: its name and its actions.
export function Bar(props: {
  title: ComponentChildren;
  under?: { text: string; href: string };
  children?: ComponentChildren;
}) {
  return (
    <div class="bar">
      <span class="phone-only">
        <Button kind="quiet" icon="menu" label="Menu" onClick={() => (navOpen.value = true)} />
      </span>
      <div class="where">
        {props.under && (
          <>
            <a href={props.under.href} class="soft nowrap">
              {props.under.text}
            </a>
            <span class="crumb" aria-hidden="true">
              /
            </span>
          </>
        )}
        <h1 class="clip" title={typeof props.title === "string" ? props.title : undefined}>
          {props.title}
        </h1>
      </div>
      <div class="do">{props.children}</div>
      <Button kind="quiet" icon="search" label="Find or do (Ctrl K)" onClick={() => (paletteOpen.value = true)} />
    </div>
  );
}
