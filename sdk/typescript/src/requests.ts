import { Link, type Answer, type Call, type CallOptions } from "./call.js";
import type { PageOptions, TimeInput } from "./types.js";
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

/** A value of a query; lists are separated by commas. */
export type Parameter = string | number | boolean | string[] | undefined;

export function query(parameters: Record<string, Parameter>): string {
  const words = Object.entries(parameters).flatMap(([key, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [`${key}=${encodeURIComponent(String(value))}`];
  });
  return words.length === 0 ? "" : `?${words.join("&")}`;
}
