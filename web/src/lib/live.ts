// Tells every tab of a browser about changes on the server through one stream. The tab that holds the
// lock reads the stream and passes it on. If the browser has no locks (for a page loaded over plain
// HTTP from another host), each visible tab reads its own stream.
import { signal } from "@preact/signals";
import { ApiError, request, signedOut } from "./api";
import type { Digest } from "./types";

// connecting: not connected yet; live: pages are at most a second old; polling: the server has no
// stream, so pages ask again every two seconds; lost: the server does not answer.
export type LiveState = "connecting" | "live" | "polling" | "lost";
export const liveState = signal<LiveState>("connecting");
export const lostSince = signal<number | null>(null);
// The user has paused the page: nothing on it changes until it is resumed.
export const paused = signal(false);

// The difference between the server's clock and this machine's, if larger than the delay of messages.
let skewMs = 0;
export const now = signal(Date.now());
export const serverNow = (): number => Date.now() + skewMs;
export function noteServerTime(at: string): void {
  const skew = new Date(at).getTime() - Date.now();
  skewMs = Math.abs(skew) > 2000 ? skew : 0;
}
setInterval(() => {
  if (!document.hidden && !paused.peek()) now.value = serverNow();
}, 1000);

// A change; `everything` means that anything may have changed.
export interface Change {
  everything: boolean;
  queues: Set<string>;
  jobs: Set<string>;
  types: Record<string, number>;
}
type Listener = (change: Change) => void;
const listeners = new Set<Listener>();
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const kEverything: Change = { everything: true, queues: new Set(), jobs: new Set(), types: {} };
function tellAll(change: Change): void {
  for (const listener of listeners) listener(change);
}
export const refreshAll = (): void => tellAll(kEverything);

type Message =
  { kind: "state"; state: LiveState } | { kind: "digest"; digest: Digest } | { kind: "everything" } | { kind: "hello" };

const name = `millrace.live:${location.pathname}`;
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(name);
let leads = false;

function hear(message: Message): void {
  switch (message.kind) {
    case "state":
      setState(message.state);
      break;
    case "digest": {
      noteServerTime(message.digest.at);
      const { queues, jobs, types, skipped } = message.digest;
      tellAll({ everything: skipped, queues: new Set(queues), jobs: new Set(jobs), types });
      break;
    }
    case "everything":
      refreshAll();
      break;
    case "hello":
      if (leads) channel?.postMessage({ kind: "state", state: liveState.peek() } satisfies Message);
      break;
  }
}

function say(message: Message): void {
  channel?.postMessage(message);
  hear(message);
}

function setState(state: LiveState): void {
  if (state === "lost" && liveState.peek() !== "lost") lostSince.value = Date.now();
  if (state !== "lost") lostSince.value = null;
  liveState.value = state;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const kSilentMs = 25_000; // the server sends something every 15 s
const kPollMs = 2000;
const kFirstWaitMs = 500;
const kLongestWaitMs = 15_000;

class Cut extends Error {}

// Reads messages until the stream ends; calls `take` with each.
async function readStream(lastId: string, take: (event: string, data: string, id: string) => void): Promise<void> {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), kSilentMs);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastId) headers["Last-Event-ID"] = lastId;
    const response = await request("v1/events?digest_ms=1000", { headers, signal: abort.signal });
    if (!response.body || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      throw new ApiError(404, null, "no stream");
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Cut();
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), kSilentMs);
      text += value;
      let end: number;
      while ((end = text.indexOf("\n\n")) >= 0) {
        const message = text.slice(0, end);
        text = text.slice(end + 2);
        let event = "message";
        let data = "";
        let id = "";
        for (const line of message.split("\n")) {
          if (line.startsWith("event: ")) event = line.slice(7);
          else if (line.startsWith("data: ")) data = line.slice(6);
          else if (line.startsWith("id: ")) id = line.slice(4);
        }
        take(event, data, id);
      }
    }
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

async function lead(): Promise<never> {
  leads = true;
  let lastId = "";
  let wait = kFirstWaitMs;
  let missed = false; // pages may be older than the stream
  for (;;) {
    while (signedOut.peek()) await sleep(500);
    try {
      await readStream(lastId, (event, data, id) => {
        wait = kFirstWaitMs;
        if (id) lastId = id;
        if (event === "gone") throw new ApiError(410, null, "gone");
        if (event === "digest") {
          say({ kind: "digest", digest: JSON.parse(data) as Digest });
        } else if (event === "position" || event === "heartbeat") {
          noteServerTime((JSON.parse(data) as { at: string }).at);
        }
        if (liveState.peek() !== "live") say({ kind: "state", state: "live" });
        if (missed) say({ kind: "everything" });
        missed = false;
      });
    } catch (error) {
      missed = true;
      const status = error instanceof ApiError ? error.status : 0;
      if (status === 410) {
        lastId = "";
        continue;
      }
      if (status === 404 || status === 422 || status === 403) {
        say({ kind: "state", state: "polling" });
        say({ kind: "everything" });
        await sleep(kPollMs);
        continue;
      }
      // A working stream ends when its server stops; the next try will show the server's state.
      if (!(error instanceof Cut)) say({ kind: "state", state: "lost" });
    }
    await sleep(wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * 2, kLongestWaitMs);
  }
}

export function startLive(): void {
  if (channel) channel.onmessage = (event: MessageEvent<Message>) => hear(event.data);
  if (navigator.locks && channel) {
    channel.postMessage({ kind: "hello" } satisfies Message);
    void navigator.locks.request(name, lead);
  } else {
    void lead();
  }
}
