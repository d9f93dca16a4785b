/** The parts of the worker's protocol: names are the API's. */
import type { Growth, PendingLine, PendingProgress, PendingWish } from "../context.js";
import type { Outcome } from "../outcome.js";

/** The contents of a poll: the claim, and the JSON texts of the items. */
export interface PollItems {
  acks?: string[];
  heartbeats?: string[];
  logs?: string[];
  /** JSON text. */
  claim?: string | undefined;
  goodbye?: boolean;
}

/** Returns the body of a poll. */
export function pollText(items: PollItems): string {
  const members: string[] = [];
  for (const name of ["acks", "heartbeats", "logs"] as const) {
    const texts = items[name];
    if (texts?.length) members.push(`"${name}":[${texts.join(",")}]`);
  }
  if (items.claim) members.push(`"claim":${items.claim}`);
  if (items.goodbye) members.push(`"goodbye":true`);
  return `{${members.join(",")}}`;
}

/** What goes with an outcome; the jobs to submit are JSON texts. */
export interface Luggage {
  lines?: PendingLine[];
  enqueued?: string[];
  growth?: Growth | undefined;
  wishes?: PendingWish[];
}

/** Returns an item of a poll's `acks`. */
export function ackText(
  { id, token }: { id: string; token: number },
  outcome: Outcome,
  { lines = [], enqueued = [], growth, wishes = [] }: Luggage = {},
): string {
  let text = `{"id":"${id}","token":${token},"outcome":"${outcome.outcome}"`;
  if (outcome.result !== undefined) text += `,"result":${outcome.result}`;
  if (outcome.error) text += `,"error":${JSON.stringify(outcome.error)}`;
  if (outcome.delay !== undefined) text += `,"delay_ms":${outcome.delay}`;
  if (lines.length) text += `,"logs":${JSON.stringify(lines)}`;
  if (enqueued.length && outcome.outcome === "succeeded") {
    text += `,"enqueue":[${enqueued.join(",")}]`;
  }
  if (growth && outcome.outcome === "succeeded") {
    text += `,"grow":{"members":[${growth.members.join(",")}],"skip":${JSON.stringify(growth.skip)}}`;
  }
  if (wishes.length) text += `,"slow_down":${JSON.stringify(wishes)}`;
  return `${text}}`;
}

/** Returns an item of a poll's `heartbeats`. */
export function beatText(id: string, token: number, progress: PendingProgress | undefined): string {
  if (!progress) return `{"id":"${id}","token":${token}}`;
  const members: string[] = [];
  if (progress.percent !== undefined) members.push(`"percent":${progress.percent}`);
  if (progress.message !== undefined) members.push(`"message":${JSON.stringify(progress.message)}`);
  if (progress.checkpoint !== undefined) members.push(`"checkpoint":${progress.checkpoint}`);
  return `{"id":"${id}","token":${token},"progress":{${members.join(",")}}}`;
}
