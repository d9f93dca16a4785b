// Made by tools/types from docs/reference/openapi.yaml; do not edit.

/** Members whose values are the application's own JSON. */
export const OPAQUE: ReadonlySet<string> = new Set(["checkpoint", "payload", "result"]);

/** Members whose values are maps with the application's own names. */
export const VERBATIM: ReadonlySet<string> = new Set(["data", "labels", "meta", "weights"]);

/** Maps whose names are the application's and whose values are the API's. */
export const MAPS: ReadonlySet<string> = new Set(["keys", "schedules", "parents"]);

/** Durations, which have the suffix `_ms` in the API, by the member that holds their object. */
export const DURATIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  breaker: new Set(["open", "window"]),
  counts: new Set([]),
  retention: new Set(["cancelled", "dead", "expired", "succeeded"]),
  retry: new Set(["base", "delays", "max"]),
  workflow: new Set(["timeout"]),
};
/** Durations of all other objects. */
export const DURATIONS_ELSEWHERE: ReadonlySet<string> = new Set([
  "ageing",
  "delay",
  "every",
  "expiresIn",
  "for",
  "jitter",
  "lease",
  "maxWait",
  "missedAfter",
  "oldestReadyAge",
  "per",
  "step",
  "timeout",
]);
