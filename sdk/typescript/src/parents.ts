import type { Parent } from "./types.js";

/** A parent has no result to read: it did not succeed, or the result was left out. */
export class NoResult extends Error {
  static {
    this.prototype.name = "NoResult";
  }

  /** @internal */
  constructor(
    message: string,
    /** The parent's ref. */
    readonly ref: string,
    /** How it ended, and the id of its job. */
    readonly parent: Parent,
  ) {
    super(message);
  }
}

const OMITTED: Record<string, string> = {
  size: "the results of the parents are larger than 1 MiB",
  unreachable: "its server did not answer in time",
  pruned: "its job is gone",
};

/** Returns the result of a parent, or throws. */
export function resultOf(parents: Record<string, Parent>, ref: string): unknown {
  const parent = Object.hasOwn(parents, ref) ? parents[ref] : undefined;
  if (!parent) {
    const refs = Object.keys(parents).join(", ");
    throw new RangeError(
      `${ref} is no parent of the job; ${refs ? `there are ${refs}` : "it has none"}`,
    );
  }
  const { id, state, reason, omitted } = parent;
  if (state === "succeeded" && omitted === undefined) return parent.result ?? null;
  const job = id === null ? "it has no job" : `its job is ${id}`;
  const why = omitted
    ? `is left out: ${OMITTED[omitted] ?? omitted}`
    : `does not exist: it is ${state}`;
  const cause = !omitted && reason ? ` (${reason})` : "";
  throw new NoResult(`the result of ${ref} ${why}${cause}; ${job}`, ref, parent);
}
