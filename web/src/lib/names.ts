// Existing names, for completion and the palette. They are fetched when first needed, and then at
// most every half minute.
import { signal } from "@preact/signals";
import { get, getAll } from "./api";
import type { Queue, Schedule, Stats, WorkerInfo } from "./types";

export const names = signal<{ queues: string[]; types: string[]; schedules: string[]; workers: string[] }>({
  queues: [],
  types: [],
  schedules: [],
  workers: [],
});
let askedAt = 0;

export async function wantNames(): Promise<void> {
  if (Date.now() - askedAt < 30_000) return;
  askedAt = Date.now();
  const none = (): [] => [];
  const [queues, schedules, workers, stats] = await Promise.all([
    getAll<Queue>("v1/queues").catch(none),
    getAll<Schedule>("v1/schedules").catch(none),
    getAll<WorkerInfo>("v1/workers").catch(none),
    get<Stats>("v1/stats", { window_ms: 86_400_000, step_ms: 86_400_000, by: "type" }).catch(() => null),
  ]);
  names.value = {
    queues: queues.map((each) => each.name),
    schedules: schedules.map((each) => each.name),
    workers: workers.map((each) => each.id),
    types: (stats?.groups ?? []).flatMap((group) => (group.type ? [group.type] : [])).sort(),
  };
}
