/**
 * Standard Schema, by which libraries such as Zod, Valibot and ArkType offer their schemas:
 * https://standardschema.dev. A job type takes one for its payload and one for its result.
 */
import type { Fault } from "./errors.js";

/** A schema: `Input` is what it accepts, `Output` what it makes of that. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a schema makes of a value, or what is wrong with the value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A fault of a value, with the way to it. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The value does not fit the schema of its job type; the message names each fault's place. */
class Misfit extends TypeError {
  /** The faults; `where` is a JSON Pointer that begins with `/payload` or `/result`. */
  readonly errors: Fault[];

  constructor(message: string, errors: Fault[]) {
    super(message);
    this.errors = errors;
  }
}

/**
 * A payload does not fit the schema of its job type. In a worker the handler has not run, and the
 * attempt fails as by any other error: a new version of the program may take the payload.
 */
export class PayloadError extends Misfit {
  static {
    this.prototype.name = "PayloadError";
  }
}

/** A result does not fit the schema of its job type. */
export class ResultError extends Misfit {
  static {
    this.prototype.name = "ResultError";
  }
}

const ERRORS = { payload: PayloadError, result: ResultError } as const;

/** Returns what the schema makes of a value. Rejects with a `PayloadError` or a `ResultError`. */
export async function parsedBy(
  schema: StandardSchema | undefined,
  value: unknown,
  member: keyof typeof ERRORS,
): Promise<unknown> {
  return schema ? valueOf(await schema["~standard"].validate(value), member) : value;
}

/** Checks a payload at once. Throws a TypeError if the schema needs time. */
export function checkPayload(schema: StandardSchema | undefined, payload: unknown): void {
  if (!schema) return;
  const result = schema["~standard"].validate(payload);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw new TypeError("the schema is asynchronous: use submit() instead of make()");
  }
  valueOf(result, "payload");
}

function valueOf(result: SchemaResult<unknown>, member: keyof typeof ERRORS): unknown {
  if (!result.issues) return result.value;
  const errors = result.issues.map(({ message, path = [] }) => ({
    where: ["", member, ...path.map(stepOf)].join("/"),
    detail: message,
  }));
  const faults = errors.map((fault) => `${fault.where}: ${fault.detail}`).join("; ");
  throw new ERRORS[member](`the ${member} does not fit its schema (${faults})`, errors);
}

// A step of a JSON Pointer.
function stepOf(step: PropertyKey | { readonly key: PropertyKey }): string {
  const key = typeof step === "object" ? step.key : step;
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
