/**
 * The times, in milliseconds, and the bounds that all SDKs share: the table in
 * sdk/conformance/README.md.
 */
export const FIRST_PAUSE = 100;
export const LONGEST_PAUSE = 5_000;
export const LONGEST_WAIT = 60_000;
export const COMMIT_PATIENCE = 2_000;
export const COMMIT_PAUSE = 100;
export const OUTCOME_DELAY = 5;
export const MANY_OUTCOMES = 64;
export const MOST_ITEMS = 1_000;
export const MOST_MEMBERS = 10_000;
export const MOST_OUTCOME_BYTES = 4 << 20;
export const SLOW_LINE_BYTES_PER_S = 256 << 10;
export const PAUSE_AFTER_REFUSAL = 200;
export const LEAST_PATIENCE = 500;
export const YOUNG_CLAIM = 500;
export const LAST_SECOND = 1_000;
export const LAST_FLUSH = 10_000;
export const REFUSED_FLUSH = 2_000;
export const GOODBYE = 1_000;
export const QUIET_POLL = 2_000;
