import type { CallOptions } from "./call.js";
import { errorOf, type MillraceError } from "./errors.js";
import { ifMatch, name, page, query, Requests, type IfMatch, type Parameter } from "./requests.js";
import type {
  BulkRequest,
  JobEvent,
  JobState,
  Limit,
  LimitSettings,
  Operation,
  Page,
  PageOptions,
  Stats,
  Why,
  WorkerInfo,
} from "./types.js";
import type { ItemResult } from "./wire-shapes.js";
import { opaqueText } from "./json.js";
import { decode, encode } from "./wire.js";

/** The answer to one job of several. */
export interface BatchItem {
  /** 201 for a new job, 200 for an existing one, else the status of the refusal. */
  status: number;
  /** The job's id; undefined for a refused job that was sent with an idempotency key instead. */
  id: string | undefined;
  /** Undefined if the job was refused. */
  state: JobState | "pruned" | "deleted" | undefined;
  /** Why it was refused. */
  error: MillraceError | undefined;
}

export function itemOf({ status, id, state, error }: ItemResult): BatchItem {
  return { status, id, state, error: error && errorOf(error, status) };
}

/** What a change of many jobs has done. */
export interface BulkAnswer {
  /** The number of jobs that matched. */
  matched: number;
  changed: number;
  /** The number of jobs that were left alone. */
  failed: number;
  /** Whether more jobs match. */
  more: boolean;
  /** With `ids`, in their order. */
  results?: BatchItem[];
}

/** Selects events. */
export interface EventFilter {
  /** Only events of this job. */
  job?: string | undefined;
  types?: JobEvent["type"][] | undefined;
  queues?: string[] | undefined;
  /** How long to wait for the next event, in milliseconds, up to 60,000. Default 0. */
  wait?: number | undefined;
}

/** Selects statistics. */
export interface StatsOptions {
  /** How far back, in milliseconds. Default an hour. */
  window?: number | undefined;
  /** The width of a column, in milliseconds. */
  step?: number | undefined;
  /** One group for each. */
  by?: "queue" | "type" | "fair_key" | "tag" | undefined;
  /** Only the group of this name; only with `by`. */
  name?: string | undefined;
}

/** The calls about limits, about many jobs at once, and about what the server sees. */
export abstract class Operating extends Requests {
  /** Returns a page of the limits, by name, with their use. */
  limits(options: CallOptions & PageOptions = {}): Promise<Page<Limit>> {
    return this.ask("GET", `/v1/limits${query(page(options))}`, options);
  }

  /** Returns a limit with its use now. */
  limit(limit: string, options: CallOptions = {}): Promise<Limit> {
    return this.ask("GET", `/v1/limits/${name(limit)}`, options);
  }

  /** Makes a limit or replaces its settings. Jobs that name it start only while it lets them. */
  putLimit(
    limit: string,
    settings: LimitSettings,
    options: CallOptions & IfMatch = {},
  ): Promise<Limit> {
    const headers = ifMatch(options);
    return this.ask("PUT", `/v1/limits/${name(limit)}`, options, settings, { headers });
  }

  /** Changes some settings of a limit. */
  patchLimit(
    limit: string,
    settings: LimitSettings,
    options: CallOptions & IfMatch = {},
  ): Promise<Limit> {
    const more = { headers: ifMatch(options), repeat: "unless_begun" } as const;
    return this.ask("PATCH", `/v1/limits/${name(limit)}`, options, settings, more);
  }

  /** Lets no job pass the limit, or one `key` of it; with `for`, for this time. */
  pauseLimit(
    limit: string,
    options: CallOptions & {
      reason?: string | undefined;
      key?: string | undefined;
      /** In milliseconds. */
      for?: number | undefined;
    } = {},
  ): Promise<Limit> {
    const { reason, key, for: time } = options;
    const body = { reason, key, for: time };
    return this.ask("POST", `/v1/limits/${name(limit)}/pause`, options, body);
  }

  /** Lets jobs pass again. */
  resumeLimit(
    limit: string,
    options: CallOptions & { key?: string | undefined } = {},
  ): Promise<Limit> {
    const path = `/v1/limits/${name(limit)}/resume`;
    return this.ask("POST", path, options, { key: options.key });
  }

  /** Deletes a limit; with `force`, even if jobs name it. */
  async deleteLimit(
    limit: string,
    options: CallOptions & { force?: boolean | undefined } = {},
  ): Promise<void> {
    const path = `/v1/limits/${name(limit)}${query({ force: options.force })}`;
    await this.send({ method: "DELETE", path }, options);
  }

  /**
   * Retries, cancels, deletes or reprioritizes many jobs, by `ids` or by a `filter`. If the request
   * asks for an operation or very many jobs match, the answer is an `Operation`, which goes on by
   * itself; it has a member `kind`.
   */
  async bulk(request: BulkRequest, options: CallOptions = {}): Promise<BulkAnswer | Operation> {
    const body = encode(request, this.link.codec);
    const call = { method: "POST", path: "/v1/jobs/bulk", body, repeat: "unless_begun" } as const;
    const { status, body: answer } = await this.send(call, options);
    if (status === 202) return decode(answer) as Operation;
    const { results, ...counts } = answer as BulkAnswer & { results?: ItemResult[] };
    return results ? { ...counts, results: results.map(itemOf) } : counts;
  }

  /** Returns a page of the operations on many jobs, newest first. */
  operations(
    options: CallOptions & PageOptions & { state?: Operation["state"] | undefined } = {},
  ): Promise<Page<Operation>> {
    const parameters = query({ state: options.state, ...page(options) });
    return this.ask("GET", `/v1/operations${parameters}`, options);
  }

  /** Returns an operation with its progress. */
  operation(id: string, options: CallOptions = {}): Promise<Operation> {
    return this.ask("GET", `/v1/operations/${name(id)}`, options);
  }

  /** Stops an operation until it is resumed. */
  pauseOperation(id: string, options: CallOptions = {}): Promise<Operation> {
    return this.ask("POST", `/v1/operations/${name(id)}/pause`, options);
  }

  /** Lets a paused operation go on. */
  resumeOperation(id: string, options: CallOptions = {}): Promise<Operation> {
    return this.ask("POST", `/v1/operations/${name(id)}/resume`, options);
  }

  /** Ends an operation; what it has done stays. */
  cancelOperation(id: string, options: CallOptions = {}): Promise<Operation> {
    return this.ask("POST", `/v1/operations/${name(id)}/cancel`, options);
  }

  /** Returns a page of the workers that the server has heard of lately. */
  workers(options: CallOptions & PageOptions = {}): Promise<Page<WorkerInfo>> {
    return this.ask("GET", `/v1/workers${query(page(options))}`, options);
  }

  /**
   * Returns a page of events, oldest first. Its `nextCursor`, which is never null, leads to later
   * events; the cursor `end` begins behind the newest.
   */
  events(
    filter: EventFilter = {},
    options: CallOptions & PageOptions = {},
  ): Promise<Page<JobEvent> & { nextCursor: string }> {
    const { job, types, queues, wait } = filter;
    const parameters = query({ job, types, queues, wait_ms: wait, ...page(options) });
    const { timeout = this.timeout + (wait ?? 0), signal } = options;
    return this.ask("GET", `/v1/events${parameters}`, { timeout, signal });
  }

  /** Returns numbers of events in columns of time, and percentiles of times. */
  stats(of: StatsOptions = {}, options: CallOptions = {}): Promise<Stats> {
    const { window, step, by, name: group } = of;
    const parameters = query({ window_ms: window, step_ms: step, by, name: group });
    return this.ask("GET", `/v1/stats${parameters}`, options);
  }

  /** Returns why a job is not running. */
  why(id: string, options: CallOptions = {}): Promise<Why> {
    return this.ask("GET", `/v1/jobs/${name(id)}/why`, options);
  }

  /**
   * Sends any other call, with the client's token, tries and errors. Names in `query`, `body` and
   * the answer are the API's. A POST or PATCH is not repeated if the server may have begun it.
   */
  async call(
    method: string,
    path: string,
    options: CallOptions & {
      query?: Record<string, Parameter> | undefined;
      body?: unknown;
    } = {},
  ): Promise<unknown> {
    const { query: parameters = {}, body } = options;
    const call = {
      method,
      path: path + query(parameters),
      body: body === undefined ? undefined : opaqueText(body, this.link.codec),
      repeat: method === "POST" || method === "PATCH" ? "unless_begun" : "always",
    } as const;
    return (await this.send(call, options)).body;
  }
}
