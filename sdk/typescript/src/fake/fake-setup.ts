import type { Submission } from "./submission.js";
import { Refusal } from "./refusal.js";

type Members = Record<string, any>;

/** What was declared under a name, with members of the API. */
interface Declared {
  members: Members;
  version: number;
  createdAt: string;
}

const DEFAULTS: Record<string, Members> = {
  queues: { paused: false, pause_reason: null, counts: {}, rates: {}, oldest_ready_age_ms: null },
  limits: { per_key: false, keys: {}, paused: false, in_use: 0, waiting: 0 },
  schedules: { paused: false, managed_by: null, state: "active", next: [], timezone: "UTC" },
};
const SETTINGS = { limits: [], max_attempts: 5, lease_ms: 30_000, retention: {} };
const PATH = /^\/v1\/(queues|limits|schedules)(?:\/([^/]+))?$/;

/**
 * The queues, limits and schedules of a fake, as an application declares them at its start. The settings
 * of a queue apply to its jobs; limits hold nothing back, and schedules do not fire.
 */
export class FakeSetup {
  readonly #declared: Record<string, Map<string, Declared>> = {
    queues: new Map(),
    limits: new Map(),
    schedules: new Map(),
  };

  /** Returns a submission with the settings of its queue for members that it does not set. */
  completed(job: Submission): Submission {
    const { max_attempts, retry, lease_ms } = this.#settings(job.queue ?? "default");
    const settings = { max_attempts, retry, lease_ms } as Partial<Submission>;
    const given = Object.entries(settings).filter(([, value]) => value !== undefined);
    return { ...(Object.fromEntries(given) as Partial<Submission>), ...job };
  }

  /** Refuses a job or a queue that names a limit that does not exist. */
  checkLimits(named: { name: string }[] | null | undefined): void {
    if (named?.every(({ name }) => this.#all("limits").has(name)) ?? true) return;
    throw new Refusal(
      422,
      "unknown_limit",
      "no limit has this name; check the spelling, or create the limit",
    );
  }

  /** Returns how many ready jobs a queue may have. */
  maxReady(queue: string): number {
    return (this.#settings(queue)["max_ready"] as number | null | undefined) ?? Infinity;
  }

  /** Returns the submission of a schedule's job. */
  jobOf(schedule: string): Submission {
    const { job } = this.#find("schedules", schedule).members as { job: Members };
    return { ...job, payload: JSON.stringify(job["payload"] ?? null) } as unknown as Submission;
  }

  /** Answers a request; undefined if the fake does not know it. */
  answer(
    method: string,
    path: string,
    query: URLSearchParams,
    body: string,
    now: number,
  ): { status: number; text: string } | undefined {
    const [, kind, encoded] = PATH.exec(path) ?? [];
    if (!kind) return undefined;
    const name = encoded && decodeURIComponent(encoded);
    const reply = (value: unknown): { status: number; text: string } => ({
      status: 200,
      text: JSON.stringify(value),
    });
    switch (`${method}${name ? "" : " all"}`) {
      case "GET all":
        return reply({ items: this.#list(kind, query), next_cursor: null });
      case "GET":
        return reply(this.#view(kind, name as string));
      case "PUT":
        this.#put(kind, name as string, JSON.parse(body) as Members, now);
        return reply(this.#view(kind, name as string));
      case "PATCH": {
        const known = this.#all(kind).get(name as string);
        if (!known && !query.has("create")) this.#find(kind, name as string);
        const changes = JSON.parse(body) as Members;
        this.#put(kind, name as string, { ...known?.members, ...changes }, now);
        return reply(this.#view(kind, name as string));
      }
      case "DELETE":
        this.#find(kind, name as string);
        this.#all(kind).delete(name as string);
        return { status: 204, text: "" };
      case "PUT all":
        return kind === "schedules"
          ? reply(this.#apply(JSON.parse(body) as Members, now))
          : undefined;
      default:
        return undefined;
    }
  }

  #settings(queue: string): Members {
    return this.#all("queues").get(queue)?.members ?? {};
  }

  #all(kind: string): Map<string, Declared> {
    return this.#declared[kind] as Map<string, Declared>;
  }

  #find(kind: string, name: string): Declared {
    const known = this.#all(kind).get(name);
    if (!known) {
      throw new Refusal(404, "not_found", `there is no ${kind.replace(/s$/, "")} ${name}`);
    }
    return known;
  }

  #put(kind: string, name: string, members: Members, now: number): void {
    if (kind === "queues") this.checkLimits(members["limits"] as { name: string }[] | null);
    const known = this.#all(kind).get(name);
    if (known && isSame(known.members, members)) return;
    const createdAt = known?.createdAt ?? new Date(now).toISOString();
    this.#all(kind).set(name, { members, version: (known?.version ?? 0) + 1, createdAt });
  }

  #view(kind: string, name: string): Members {
    const { members, version, createdAt } = this.#find(kind, name);
    const shown = { ...DEFAULTS[kind], name, version, created_at: createdAt };
    if (kind === "queues") return { ...shown, settings: { ...SETTINGS, ...members } };
    return { ...shown, ...members };
  }

  #list(kind: string, query: URLSearchParams): Members[] {
    const owner = query.get("managed_by");
    return [...this.#all(kind).keys()]
      .sort()
      .map((name) => this.#view(kind, name))
      .filter((each) => owner === null || (each["managed_by"] ?? "") === owner);
  }

  #apply(set: Members, now: number): Members {
    const { managed_by: owner, schedules = {}, prune = false, dry_run: isDry = false } = set;
    const changes: Record<string, string[]> = {
      created: [],
      updated: [],
      unchanged: [],
      deleted: [],
    };
    const all = this.#all("schedules");
    for (const [name, spec] of Object.entries(schedules as Record<string, Members>)) {
      const members = { managed_by: owner, ...spec };
      const known = all.get(name);
      const change = !known ? "created" : isSame(known.members, members) ? "unchanged" : "updated";
      changes[change]?.push(name);
      if (!isDry) this.#put("schedules", name, members, now);
    }
    if (!prune) return changes;
    for (const [name, { members }] of all) {
      if (members["managed_by"] !== owner || name in (schedules as object)) continue;
      changes["deleted"]?.push(name);
      if (!isDry) all.delete(name);
    }
    return changes;
  }
}

const isSame = (one: Members, other: Members): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
