import { Unreachable } from "./errors.js";

/** One request, without retries. */
export interface TransportRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** In milliseconds, until the whole answer has arrived. */
  timeout: number;
  signal?: AbortSignal | undefined;
}

export interface TransportAnswer {
  status: number;
  /** Returns a header; names are in lower case. */
  header(name: string): string | null | undefined;
  text: string;
}

/**
 * Sends a request and returns the answer, with any status. It rejects with `Unreachable` if there
 * is no answer within the timeout, and with the signal's reason if the signal is aborted.
 */
export type Transport = (request: TransportRequest) => Promise<TransportAnswer>;

/** Returns a transport that uses `fetch`, the platform's or a compatible one. */
export function fetchTransport(send: typeof fetch): Transport {
  return async ({ method, url, headers, body, timeout, signal }) => {
    signal?.throwIfAborted();
    const stop = new AbortController();
    const giveUp = (): void => stop.abort(signal?.reason);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      stop.abort();
    }, timeout);
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const answer = await send(url, { method, headers, body: body ?? null, signal: stop.signal });
      const text = await answer.text();
      return { status: answer.status, header: (name) => answer.headers.get(name), text };
    } catch (fault) {
      if (signal?.aborted) throw signal.reason;
      throw isLate ? tooLate(url, timeout) : lost(url, fault);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  };
}

export function tooLate(url: string, timeout: number): Unreachable {
  const server = new URL(url, "http://localhost").host;
  const ms = Math.round(timeout);
  return new Unreachable(`${server} did not answer within ${ms} ms`, { mayHaveBegun: true });
}

export function lost(url: string, fault: unknown): Unreachable {
  const server = new URL(url, "http://localhost").host;
  const reason = innermost(fault);
  const code = (reason as { code?: unknown }).code;
  const isUntrusted = UNTRUSTED.test(String(code));
  const mayHaveBegun = !isUntrusted && !BEFORE_ANY_BYTE.has(String(code));
  return new Unreachable(`${server} can't be reached: ${reason.message || String(code)}`, {
    mayHaveBegun,
    isUntrusted,
    cause: fault,
  });
}

// The codes of OpenSSL and Node.js for a certificate that is not trusted.
const UNTRUSTED =
  /^(UNABLE_TO_(GET|VERIFY)_|CERT_|SELF_SIGNED_CERT_|DEPTH_ZERO_|INVALID_CA$|HOSTNAME_MISMATCH$|ERR_TLS_CERT_)/;

// Errors that say that no connection was established.
const BEFORE_ANY_BYTE = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function innermost(fault: unknown): Error {
  let reason = fault;
  while (reason instanceof Error) {
    const inner = reason instanceof AggregateError ? (reason.errors[0] as unknown) : reason.cause;
    if (!(inner instanceof Error)) return reason;
    reason = inner;
  }
  return new Error(String(reason));
}
