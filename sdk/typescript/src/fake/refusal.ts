import type { FaultOfBody } from "./submission.js";

/** A refusal, to be thrown. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly errors?: FaultOfBody[],
  ) {}

  text(): string {
    const { status, code, detail, errors } = this;
    const problem = {
      type: "about:blank",
      title: detail,
      status,
      detail,
      code,
      request_id: "fake",
    };
    return JSON.stringify({ ...problem, errors });
  }
}

/** Returns the refusal of a request with these faults. */
export function invalid(errors: FaultOfBody[]): Refusal {
  const count = errors.length === 1 ? "1 fault" : `${errors.length} faults`;
  return new Refusal(422, "validation_failed", count, errors.slice(0, 20));
}
