/** Checks the members of a submission as the server does. Names are the API's. */
import { readAnswer } from "../json.js";
import type * as wire from "../wire-shapes.js";

/** A submission; payloads are JSON text. */
export type Submission = wire.Submission<string>;

export interface FaultOfBody {
  pointer: string;
  detail: string;
}

/** Parses a body; opaque values stay JSON text. */
export function readBody(text: string): unknown {
  return readAnswer(text, (raw) => raw);
}

export const NAME = /^[A-Za-z0-9._:/-]{1,128}$/;
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const KEY = /^[!-~]{1,255}$/;
const TEN_YEARS = 315_360_000_000;

type Check = (value: any) => boolean;

const within =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && value >= least && value <= most;
const isTime: Check = (value) => typeof value === "string" && !Number.isNaN(Date.parse(value));
const isText: Check = (value) => typeof value === "string";

const isKey: Check = (value) =>
  isText(value) && value !== "" && new TextEncoder().encode(value).length <= 128;

const MEMBERS: Record<string, [Check, string]> = {
  type: [(value) => NAME.test(value), "must be 1 to 128 characters of A-Za-z0-9._:/-"],
  id: [(value) => UUID7.test(value), "must be a UUIDv7 in lower case"],
  queue: [(value) => NAME.test(value), "must be 1 to 128 characters of A-Za-z0-9._:/-"],
  payload: [isText, "must be JSON"],
  priority: [within(-32_768, 32_767), "must be -32768 to 32767"],
  run_at: [isTime, "must be a time as in RFC 3339"],
  delay_ms: [within(0, TEN_YEARS), `must be 0 to ${TEN_YEARS}`],
  expires_at: [isTime, "must be a time as in RFC 3339"],
  expires_in_ms: [within(0, TEN_YEARS), `must be 0 to ${TEN_YEARS}`],
  max_attempts: [within(1, 1_000), "must be 1 to 1000"],
  retry: [(value) => isText(value?.strategy), "must have a strategy"],
  lease_ms: [within(1_000, 86_400_000), "must be 1000 to 86400000"],
  timeout_ms: [within(1, TEN_YEARS), `must be 1 to ${TEN_YEARS}`],
  unique: [(value) => isText(value?.key) && value.key !== "", "must have a key"],
  tags: [
    (value) => Array.isArray(value) && value.length <= 32 && value.every((tag) => NAME.test(tag)),
    "must be at most 32 names",
  ],
  meta: [
    (value) => typeof value === "object" && Object.values(value ?? {}).every(isText),
    "must be an object of strings",
  ],
  limits: [
    (value) =>
      Array.isArray(value) && value.length <= 8 && value.every((one) => NAME.test(one?.name)),
    "must be at most 8 objects with a name",
  ],
  order_key: [isKey, "must have 1 to 128 bytes"],
  order_on_failure: [(value) => value === "hold" || value === "pass", "must be hold or pass"],
  fair_key: [isKey, "must have 1 to 128 bytes"],
  traceparent: [isText, "must be text"],
  tracestate: [isText, "must be text"],
  idempotency_key: [(value) => KEY.test(value), "must be 1 to 255 visible ASCII characters"],
};

/** Returns every fault of a submission. */
export function faultsOf(job: unknown): FaultOfBody[] {
  if (typeof job !== "object" || job === null)
    return [{ pointer: "", detail: "must be an object" }];
  const faults: FaultOfBody[] = [];
  for (const [name, value] of Object.entries(job)) {
    const [isGood, rule] = MEMBERS[name] ?? [() => false, "is not a member of a job"];
    if (!isGood(value)) faults.push({ pointer: `/${name}`, detail: rule });
  }
  const given = job as Submission;
  if (given.type === undefined) faults.push({ pointer: "/type", detail: "is missing" });
  for (const [one, other] of [
    ["run_at", "delay_ms"],
    ["expires_at", "expires_in_ms"],
  ] as const) {
    if (given[one] !== undefined && given[other] !== undefined) {
      faults.push({ pointer: `/${other}`, detail: `can't stand beside ${one}` });
    }
  }
  return faults;
}

/** Returns the delay in milliseconds after the failed `attempt`, without jitter. */
export function retryDelay(retry: wire.RetryPolicy, attempt: number): number {
  if (retry.strategy === "list") {
    const delays = retry.delays_ms ?? [0];
    return delays[Math.min(attempt, delays.length) - 1] ?? 0;
  }
  const { base_ms: base = 5_000, max_ms: most = 300_000 } = retry;
  const factor = { exponential: 2 ** (attempt - 1), linear: attempt, fixed: 1 }[retry.strategy];
  return Math.min(base * factor, most);
}
