import { FIRST_PAUSE, LONGEST_PAUSE } from "./constants.js";

/** Returns a random pause in milliseconds before try `n + 1`; tries count from 0. */
export function fullJitter(n: number): number {
  return Math.random() * Math.min(FIRST_PAUSE * 2 ** n, LONGEST_PAUSE);
}

/** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
