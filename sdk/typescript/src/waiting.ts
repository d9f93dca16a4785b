import { pause } from "./backoff.js";
import type { Answer, CallOptions, Link } from "./call.js";
import { COMMIT_PATIENCE, COMMIT_PAUSE, LONGEST_WAIT } from "./constants.js";
import { NotFound, WaitTimeout } from "./errors.js";
import { query } from "./requests.js";
import { decode } from "./wire.js";

const WAIT_MARGIN = 10_000; // for the round trip
const MORE_THAN_A_CALL = 2 ** 31 - 1; // the longest timer, in milliseconds

/**
 * Asks for a job or a workflow until it has one of the states in `final`. Rejects with
 * `WaitTimeout` after `timeout` milliseconds; `what` names it in that error. One that a transaction
 * submits comes a moment after the commit, so `NotFound` takes 2 s.
 */
export async function untilFinal<Value extends { state: string }>(
  link: Link,
  path: string,
  final: ReadonlySet<string>,
  what: string,
  { timeout = MORE_THAN_A_CALL, signal }: CallOptions,
): Promise<Value> {
  const began = performance.now();
  const deadline = began + timeout;
  for (;;) {
    const left = Math.max(deadline - performance.now(), 0);
    const asked = performance.now();
    const wait = Math.round(Math.min(left, LONGEST_WAIT));
    const parameters = query({ until: "final", wait_ms: wait, include: ["result"] });
    const tryTimeout = wait + WAIT_MARGIN;
    const call = { method: "GET", path: path + parameters, tryTimeout };
    let answer: Answer;
    try {
      answer = await link.call(call, Math.max(left, tryTimeout), signal);
    } catch (error) {
      const comes = Math.min(began + COMMIT_PATIENCE, deadline);
      if (!(error instanceof NotFound) || performance.now() >= comes) throw error;
      await pause(COMMIT_PAUSE, signal);
      continue;
    }
    const value = decode(answer.body) as Value;
    if (final.has(value.state)) return value;
    if (performance.now() >= deadline) {
      throw new WaitTimeout(`${what} is ${value.state} after ${Math.round(timeout)} ms`);
    }
    // A server that is stopping does not let requests wait.
    if (performance.now() - asked < wait / 2) await pause(Math.min(250, wait), signal);
  }
}
