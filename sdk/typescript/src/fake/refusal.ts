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
