// Concerns that need a person's attention, and the next step for each.
import { count, duration, plural } from "./format";
import { href } from "./router";
import type { Limit, PushTarget, Queue, Readiness, Schedule, Stats, TypeGate, WorkerInfo } from "./types";

export interface Concern {
  id: string;
  kind: "bad" | "warn";
  title: string;
  text: string;
  link: { text: string; href: string };
  // A button that solves the problem.
  act?: { text: string; what: "resume-queue" | "resume-limit" | "resume-schedule" | "resume-push"; name: string };
}

export interface Facts {
  queues: Queue[];
  workers: WorkerInfo[];
  limits: Limit[];
  types: TypeGate[];
  schedules: Schedule[];
  targets: PushTarget[];
  readiness: Readiness | null;
  byType: Stats | null;
}

const kOldMs = 60_000;
const kSilentMs = 45_000;
const kFailingShare = 0.2;

const sum = (column: number[]): number => column.reduce((a, b) => a + b, 0);

// The text of a concern is made only when it is shown: of ten thousand queues without a worker, six are.
export interface Told {
  id: string;
  kind: Concern["kind"];
  tell: () => Omit<Concern, "id" | "kind">;
}

export function concernsOf(facts: Facts, now: number): Told[] {
  const found: Told[] = [];
  const push = (id: string, kind: Concern["kind"], tell: Told["tell"]): void => void found.push({ id, kind, tell });
  const say = ({ id, kind, ...words }: Concern): void => push(id, kind, () => words);
  const servers = new Map<string, number>();
  for (const worker of facts.workers) {
    if (worker.state !== "active") continue;
    for (const queue of worker.queues) servers.set(queue, (servers.get(queue) ?? 0) + 1);
  }
  for (const target of facts.targets) {
    if (!target.paused) for (const queue of target.queues) servers.set(queue, (servers.get(queue) ?? 0) + 1);
  }

  for (const check of facts.readiness?.checks ?? []) {
    if (check.ok) continue;
    say({
      id: `check ${check.name}`,
      kind: "bad",
      title: `The server's check “${check.name}” fails`,
      text: check.detail ?? "The server gives no detail.",
      link: { text: "Checks", href: href(["settings"]) },
    });
  }
  for (const queue of facts.queues) {
    const {
      name,
      counts: { ready },
    } = queue;
    const age = queue.oldest_ready_age_ms ?? 0;
    const are = (): string => `${plural(ready, "job")} ${ready === 1 ? "is" : "are"} ready`;
    const link = (text: string): Concern["link"] => ({ text, href: href(["queues", name]) });
    if (queue.paused) {
      push(`paused ${name}`, "warn", () => ({
        title: `Queue ${name} is paused`,
        text: `${queue.pause_reason ? `“${queue.pause_reason}”. ` : ""}${plural(ready, "ready job")} ${ready === 1 ? "waits" : "wait"}.`,
        link: link("Queue"),
        act: { text: "Resume", what: "resume-queue", name },
      }));
    } else if (ready > 0 && !servers.has(name) && age > 5000) {
      push(`alone ${name}`, "bad", () => ({
        title: `No worker takes jobs from ${name}`,
        text: `${are()}, the oldest for ${duration(age)}. Start a worker: millrace work -q ${name} -- COMMAND`,
        link: { text: "Workers", href: href(["workers"]) },
      }));
    } else if (ready > 0 && age > kOldMs) {
      push(`late ${name}`, "warn", () => ({
        title: `Queue ${name} is behind by ${duration(age)}`,
        text: `${are()}. See what holds the oldest; or add workers.`,
        link: link("Why"),
      }));
    }
    if (queue.settings.max_ready !== null && ready >= queue.settings.max_ready) {
      push(`full ${name}`, "bad", () => ({
        title: `Queue ${name} is full`,
        text: `It refuses new jobs at ${count(queue.settings.max_ready!)} ready ones (max_ready).`,
        link: link("Queue"),
      }));
    }
  }
  for (const worker of facts.workers) {
    const silent = now - new Date(worker.last_seen_at).getTime();
    if (worker.running.length > 0 && silent > kSilentMs) {
      say({
        id: `lost ${worker.id}`,
        kind: "bad",
        title: `Worker ${worker.id} has not been heard of for ${duration(silent)}`,
        text: `It holds ${plural(worker.running.length, "job")}, to be handed out again when the lease runs out.`,
        link: { text: "Workers", href: href(["workers"]) },
      });
    }
  }
  const gates: { name: string; kind: "limit" | "type"; gate: Limit | TypeGate; href: string }[] = [
    ...facts.limits.map((gate) => ({
      name: gate.name,
      kind: "limit" as const,
      gate,
      href: href(["limits", gate.name]),
    })),
    ...facts.types.map((gate) => ({
      name: gate.type,
      kind: "type" as const,
      gate,
      href: href(["limits"], { tab: "types" }),
    })),
  ];
  for (const { name, kind, gate, href: to } of gates) {
    const link = { text: kind === "limit" ? "Limit" : "Types", href: to };
    if (gate.paused) {
      say({
        id: `gate ${kind} ${name}`,
        kind: "warn",
        title: `${kind === "limit" ? "Limit" : "Type"} ${name} is paused`,
        text: `${gate.pause_reason ? `“${gate.pause_reason}”. ` : ""}${plural(gate.waiting, "ready job")} must pass it.`,
        link,
        ...(kind === "limit" ? { act: { text: "Resume", what: "resume-limit" as const, name } } : {}),
      });
    } else if (
      gate.waiting > 0 &&
      gate.concurrency !== null &&
      !("per_key" in gate && gate.per_key) &&
      gate.in_use >= gate.concurrency
    ) {
      say({
        id: `gate ${kind} ${name}`,
        kind: "warn",
        title: `${kind === "limit" ? "Limit" : "Type"} ${name} is full`,
        text: `${count(gate.in_use)} of ${count(gate.concurrency)} in use, and ${plural(gate.waiting, "job")} ${gate.waiting === 1 ? "waits" : "wait"} for it.`,
        link,
      });
    }
  }
  for (const schedule of facts.schedules) {
    const link = { text: "Schedule", href: href(["schedules", schedule.name]) };
    if (schedule.state === "broken") {
      say({
        id: `broken ${schedule.name}`,
        kind: "bad",
        title: `Schedule ${schedule.name} is broken`,
        text: schedule.error ?? "It can't know its instants.",
        link,
      });
    } else if (schedule.state === "paused") {
      say({
        id: `schedule ${schedule.name}`,
        kind: "warn",
        title: `Schedule ${schedule.name} is paused`,
        text: schedule.reason ? `“${schedule.reason}”` : "It makes no jobs until it is resumed.",
        link,
        act: { text: "Resume", what: "resume-schedule", name: schedule.name },
      });
    }
  }
  for (const target of facts.targets) {
    const link = { text: "Push target", href: href(["push", target.name]) };
    if (target.paused) {
      say({
        id: `push ${target.name}`,
        kind: "warn",
        title: `Push target ${target.name} is paused`,
        text: target.pause_reason ?? "No calls are made.",
        link,
        act: { text: "Resume", what: "resume-push", name: target.name },
      });
    } else if (target.health?.breaker === "open") {
      say({
        id: `push ${target.name}`,
        kind: "bad",
        title: `The receiver of push target ${target.name} fails`,
        text: `${plural(target.health.failures_in_a_row, "failure")} in a row; it is called again from time to time.`,
        link,
      });
    }
  }
  for (const group of facts.byType?.groups ?? []) {
    if (!group.type) continue;
    const dead = sum(group.dead);
    const failed = sum(group.failed);
    const ended = sum(group.succeeded) + failed;
    if (dead === 0 && (ended < 20 || failed / ended < kFailingShare)) continue;
    say({
      id: `type ${group.type}`,
      kind: dead > 0 ? "bad" : "warn",
      title: dead > 0 ? `${plural(dead, "job")} of type ${group.type} died` : `Jobs of type ${group.type} fail`,
      text: `${Math.round((100 * failed) / Math.max(1, ended))} % of their attempts failed in this window.`,
      link: { text: "Errors", href: href(["errors"], { type: group.type }) },
    });
  }
  const order = { bad: 0, warn: 1 };
  return found.sort((a, b) => order[a.kind] - order[b.kind]);
}
