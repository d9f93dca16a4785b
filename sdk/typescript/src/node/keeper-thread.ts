/** The keeper's thread: heartbeats for attempts whose own are late. See `keeper.ts`. */
import { MOST_ITEMS } from "../constants.js";
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { parentPort, workerData } from "node:worker_threads";

import { Link } from "../call.js";
import { plainJson } from "../json.js";
import { now } from "./clock.js";
import { httpTransport } from "./http.js";
import { graceOf, WATCH_SIGNALS, type KeeperData } from "./keeper.js";
import { CANCELLED, LeaseTable, LOST } from "./lease-table.js";
import type { HeartbeatResult, PollAnswer } from "../wire-shapes.js";
import { ackText, beatText, pollText, type PollItems } from "./wire-worker.js";

// How long the worker's thread has, in milliseconds, to act on a second signal.
const UNHEARD = 1_500;
const RELEASE_TIMEOUT = 2_000;

const data = workerData as KeeperData;
const table = new LeaseTable(data.memory);
const { url, token, ca, worker } = data;
const link = new Link({ url, token, codec: plainJson }, httpTransport({ ca }));
// When this thread next sends a heartbeat for the attempt in a row, after its first one.
const again = new Map<number, { number: number; due: number; certain: number }>();
let timer: NodeJS.Timeout | undefined;

function wake(): void {
  clearTimeout(timer);
  // From now on, entering an attempt sends a message, which wakes this thread again.
  table.keeperWakesAt = Infinity;
  const at = now();
  let next = Infinity;
  for (let index = 0; index < table.rows; index++) {
    const number = table.number(index);
    if (number % 2 === 0) continue;
    next = Math.min(next, look(index, number, at));
  }
  table.keeperWakesAt = next;
  if (next !== Infinity) timer = setTimeout(wake, Math.min(Math.max(next - at, 10), 2 ** 31 - 1));
}

// Sends a heartbeat if it is due; returns when to check again.
function look(index: number, number: number, at: number): number {
  const row = table.read(index);
  const own = again.get(index);
  const mine = own?.number === number ? own : undefined;
  // The worker has taken over again once its planned heartbeat is not late.
  const dueNow = Math.max(row.due + graceOf(row.lease), mine?.due ?? 0);
  const certain = Math.max(row.certain, mine?.certain ?? 0);
  if (at < dueNow) return dueNow;
  if (at >= certain) return Infinity; // the worker tells the handler as soon as it can
  // A repetition, on another connection, if the answer is slow.
  const due = at + row.lease / 6;
  again.set(index, { number, due, certain });
  void beat(index, number, row, certain - at);
  return due;
}

async function beat(
  index: number,
  number: number,
  { id, token, lease }: { id: string; token: number; lease: number },
  timeout: number,
): Promise<void> {
  const sentAt = now();
  try {
    const answer = await poll({ heartbeats: [beatText(id, token, undefined)] }, timeout);
    take(index, number, sentAt + lease, lease, answer.heartbeats[0]);
  } catch {
    // The next heartbeat is already planned.
  }
}

async function poll(items: PollItems, timeout: number): Promise<PollAnswer> {
  const path = `/v1/workers/${encodeURIComponent(worker)}/poll`;
  const { body } = await link.once({ method: "POST", path, body: pollText(items) }, timeout);
  return body as PollAnswer;
}

function take(
  index: number,
  number: number,
  certain: number,
  lease: number,
  result: HeartbeatResult | undefined,
): void {
  const own = again.get(index);
  if (!result || own?.number !== number) return;
  if (result.error) {
    if (result.error.code === "lease_lost") table.write({ index, number }, 0, LOST);
    return;
  }
  own.certain = Math.max(own.certain, certain);
  own.due = Math.max(own.due, certain - (lease * 2) / 3);
  table.write({ index, number }, own.certain, result.cancel_requested ? CANCELLED : 0);
}

// Node.js offers signals to the first thread alone, where a handler that computes holds them back.
// Its binding to libuv does not; where that is missing or not allowed, they wait for the handler.
function watchSignals(): void {
  Object.assign(process, { noDeprecation: true }); // of this thread, which runs nothing else
  try {
    const { Signal } = (process as unknown as { binding(name: string): Bindings }).binding(
      "signal_wrap",
    );
    for (const number of [constants.signals.SIGTERM, constants.signals.SIGINT]) {
      const watch = new Signal();
      watch.onsignal = signalled;
      watch.unref();
      watch.start(number);
    }
  } catch {
    // Signals wait for the handler.
  }
  parentPort?.postMessage(WATCH_SIGNALS);
}

interface Bindings {
  Signal: new () => { onsignal: () => void; unref(): void; start(signal: number): number };
}

function signalled(): void {
  table.noteSignal();
  if (table.signals === 2) setTimeout(() => void endUnheard(), UNHEARD);
}

// Ends the process for a thread that can't: gives its jobs back, and leaves no more than a kill would.
async function endUnheard(): Promise<void> {
  if (table.heard >= 2) return;
  const released: string[] = [];
  for (let index = 0; index < table.rows; index++) {
    if (table.number(index) % 2 === 0) continue;
    released.push(ackText(table.read(index), { outcome: "released" }));
  }
  for (let i = 0; i < released.length; i += MOST_ITEMS) {
    await poll({ acks: released.slice(i, i + MOST_ITEMS) }, RELEASE_TIMEOUT).catch(() => undefined);
  }
  writeSync(2, "millrace: a handler blocks the thread; a second signal ends the process\n");
  process.kill(process.pid, "SIGKILL");
}

parentPort?.on("message", (message) => (message === WATCH_SIGNALS ? watchSignals() : wake()));
wake();
