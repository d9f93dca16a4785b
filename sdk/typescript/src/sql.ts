/** Submissions by SQL, in a transaction of the application's own. */
import { readAnswer } from "./json.js";

/** A connection of node-postgres, in its transaction, or anything that queries like it. */
export interface SqlConnection {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

// How the members of a submission become arguments of `millrace.enqueue`. What is no text is sent as
// JSON text, so that every driver can send it.
const TEXT = "$n";
const JSONB = "$n::jsonb";
const INTEGER = "$n::integer";
const TIME = "$n::timestamptz";
const MILLISECONDS = "$n::float8 * interval '1 millisecond'";
const TEXTS = "ARRAY(SELECT jsonb_array_elements_text($n::jsonb))";

const ARGUMENTS: Readonly<Record<string, readonly [argument: string, value: string]>> = {
  type: ["type", TEXT],
  payload: ["payload", JSONB],
  queue: ["queue", TEXT],
  id: ["id", "$n::uuid"],
  priority: ["priority", INTEGER],
  run_at: ["run_at", TIME],
  delay_ms: ["delay", MILLISECONDS],
  expires_at: ["expires_at", TIME],
  expires_in_ms: ["expires_in", MILLISECONDS],
  max_attempts: ["max_attempts", INTEGER],
  retry: ["retry", JSONB],
  lease_ms: ["lease", MILLISECONDS],
  timeout_ms: ["timeout", MILLISECONDS],
  "unique.key": ["unique_key", TEXT],
  "unique.for_ms": ["unique_for", MILLISECONDS],
  "unique.on_conflict": ["on_conflict", TEXT],
  "unique.max_wait_ms": ["max_wait", MILLISECONDS],
  tags: ["tags", TEXTS],
  meta: ["meta", JSONB],
  traceparent: ["traceparent", TEXT],
  tracestate: ["tracestate", TEXT],
  idempotency_key: ["idempotency_key", TEXT],
  limits: ["limits", JSONB],
  order_key: ["order_key", TEXT],
  order_on_failure: ["order_on_failure", TEXT],
  fair_key: ["fair_key", TEXT],
};

/** Returns the call of `millrace.enqueue` for a submission in the API's form, with its values. */
export function enqueueStatement(submission: string): { text: string; values: string[] } {
  const { unique = {}, ...job } = readAnswer(submission, (raw) => raw) as Record<string, unknown>;
  const members = [
    ...Object.entries(job),
    ...Object.entries(unique as object).map(([name, value]) => [`unique.${name}`, value] as const),
  ];
  const values: string[] = [];
  const given = members.map(([name, value]) => {
    const found = ARGUMENTS[name];
    if (!found) throw new TypeError(`${name} is no member of a job`);
    values.push(typeof value === "string" ? value : JSON.stringify(value));
    return `${found[0]} => ${found[1].replace("$n", `$${values.length}`)}`;
  });
  return { text: `SELECT millrace.enqueue(${given.join(", ")}) AS id`, values };
}
