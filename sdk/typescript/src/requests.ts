import { Link, type Answer, type Call, type CallOptions } from "./call.js";
import { InvalidState } from "./errors.js";
import type { Page, PageOptions, TimeInput } from "./types.js";
import { decode, encode } from "./wire.js";

/** The version that a change expects. Any other version fails with `VersionConflict`. */
export interface IfMatch {
  /** The `version` that was read before. */
  ifMatch?: number | undefined;
}

/** Sends the calls of a client. */
export abstract class Requests {
  /** @internal */
  readonly link: Link;
  /** @internal The bound on calls that name none, in milliseconds. */
  protected readonly timeout: number;

  /** @internal */
  constructor(link: Link, timeout: number) {
    this.link = link;
    this.timeout = timeout;
  }

  /** @internal Sends a call, and converts the names of its body and of its answer. */
  protected async ask<Value>(
    method: string,
    path: string,
    options: CallOptions,
    body?: unknown,
    more: Pick<Call, "headers" | "repeat"> = {},
  ): Promise<Value> {
    const text = body === undefined ? undefined : encode(body, this.link.codec);
    const answer = await this.send({ method, path, body: text, ...more }, options);
    return decode(answer.body) as Value;
  }

  /**
   * @internal Sends a call that is refused as `InvalidState` if it was done before. If an earlier try
   * may have done it, and its answer was lost, `find` returns what is there if it was done.
   */
  protected async askOrFind<Value>(
    call: Call,
    options: CallOptions,
    find: () => Promise<Value | undefined>,
  ): Promise<Value> {
    let tries = 0;
    try {
      const answer = await this.send({ ...call, onTry: () => tries++ }, options);
      return decode(answer.body) as Value;
    } catch (error) {
      const found = error instanceof InvalidState && tries > 1 ? await find() : undefined;
      if (found === undefined) throw error;
      return found;
    }
  }

  /** @internal */
  protected send(call: Call, options: CallOptions): Promise<Answer> {
    return this.link.call(call, options.timeout ?? this.timeout, options.signal);
  }
}

export function ifMatch(options: IfMatch): Record<string, string> {
  return options.ifMatch === undefined ? {} : { "if-match": `"${options.ifMatch}"` };
}

export const name = encodeURIComponent;

export const time = (at: TimeInput | undefined): string | undefined =>
  at instanceof Date ? at.toISOString() : at;

export const page = ({ limit, cursor }: PageOptions): Pick<PageOptions, "limit" | "cursor"> => ({
  ...(limit !== undefined && { limit }),
  ...(cursor !== undefined && { cursor }),
});

/** Iterates over the items of all pages. */
export async function* pagesOf<Item, Options extends { cursor?: string }>(
  ask: (options: Options) => Promise<Page<Item>>,
  options: Options,
): AsyncGenerator<Item, void, undefined> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const shown: Page<Item> = await ask(cursor ? { ...options, cursor } : options);
    yield* shown.items;
    cursor = shown.nextCursor;
  }
}

/** A value of a query; lists are separated by commas. */
export type Parameter = string | number | boolean | string[] | undefined;

export function query(parameters: Record<string, Parameter>): string {
  const words = Object.entries(parameters).flatMap(([key, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [`${key}=${encodeURIComponent(String(value))}`];
  });
  return words.length === 0 ? "" : `?${words.join("&")}`;
}
