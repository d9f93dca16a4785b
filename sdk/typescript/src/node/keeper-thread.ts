/** The keeper's thread: heartbeats for attempts whose own are late. See `keeper.ts`. */
import { parentPort, workerData } from "node:worker_threads";

import { Link } from "../call.js";
import { plainJson } from "../json.js";
import { now } from "./clock.js";
import { httpTransport } from "./http.js";
import { graceOf, type KeeperData } from "./keeper.js";
import { CANCELLED, LeaseTable, LOST } from "./lease-table.js";
import type { HeartbeatResult, PollAnswer } from "../wire-shapes.js";
import { beatText, pollText } from "./wire-worker.js";

const data = workerData as KeeperData;
const table = new LeaseTable(data.memory);
const link = new Link(data.url, data.token, httpTransport({ ca: data.ca }), plainJson);
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
  const path = `/v1/workers/${encodeURIComponent(data.worker)}/poll`;
  const body = pollText({ heartbeats: [beatText(id, token, undefined)] });
  try {
    const answer = await link.once({ method: "POST", path, body }, timeout);
    take(index, number, sentAt + lease, lease, (answer.body as PollAnswer).heartbeats[0]);
  } catch {
    // The next heartbeat is already planned.
  }
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

parentPort?.on("message", wake);
wake();
