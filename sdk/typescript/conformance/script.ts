// The scripted handler of the conformance suite.
import { setTimeout as sleep } from "node:timers/promises";

import {
  cancel,
  NonRetryable,
  retryAfter,
  snooze,
  type Context,
  type Millrace,
  type NewJob,
  type NewMember,
} from "@millrace/sdk";
import { decode } from "#dist/wire.js";

type Step = [string, ...any[]];
type Tell = (event: string, members: Record<string, unknown>) => void;

const GOES_ON = Symbol();

/** An error whose text fails. */
class Indescribable extends Error {
  override get message(): string {
    throw new Error("no text");
  }
}

// A message of a script; half a surrogate pair stands in it where the suite asks for one.
const halved = (message: string): string => message?.replaceAll("<half>", "\ud83d");

/** Plays a job's script and sends the events that the suite expects. */
export async function playScript(
  client: Millrace,
  worker: string,
  script: Step[],
  ctx: Context,
  tell: Tell,
): Promise<unknown> {
  const { id: job, type, queue, attempt, meta, checkpoint, traceparent, schedule } = ctx.job;
  const { token } = ctx;
  const made = schedule && { name: schedule.name, scheduled_at: schedule.scheduledAt };
  const optional = { checkpoint: checkpoint ?? null, traceparent: traceparent ?? null };
  const known = { worker, job, type, queue, attempt, token, meta, ...optional };
  const flow = { workflow: ctx.workflow ?? null, parents: ctx.parents };
  tell("start", { ...known, schedule: made ?? null, ...flow });
  ctx.signal.addEventListener("abort", () => tell("told", { job, token, reason: ctx.stopReason }));
  try {
    const value = await play(client, script, ctx, tell);
    return value === GOES_ON ? null : value;
  } finally {
    tell("end", { job, token });
  }
}

async function play(client: Millrace, script: Step[], ctx: Context, tell: Tell): Promise<unknown> {
  for (const [step, ...args] of script) {
    const value = await STEPS[step]!(args, ctx, client, tell);
    if (value !== GOES_ON) return value;
  }
  return GOES_ON;
}

type Play = (args: any[], ctx: Context, client: Millrace, tell: Tell) => unknown;

const STEPS: Record<string, Play> = {
  sleep: ([ms], ctx) => sleep(ms, GOES_ON, { signal: ctx.signal }),
  stubborn: ([ms]) => sleep(ms, GOES_ON),
  block: ([ms]) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
    return GOES_ON;
  },
  progress: ([percent, message, checkpoint], ctx) => {
    ctx.progress(percent ?? undefined, halved(message) ?? undefined, checkpoint ?? undefined);
    return GOES_ON;
  },
  bad_progress: (_, ctx) => {
    ctx.progress(NaN);
    try {
      ctx.progress(undefined, undefined, () => undefined);
    } catch {
      // It is not JSON.
    }
    return GOES_ON;
  },
  log: ([level, message], ctx) => {
    ctx.log[level as "info"](halved(message));
    return GOES_ON;
  },
  submit: async ([job], ctx, client, tell) => {
    const { job: submitted } = await client.submit(decode(job) as NewJob);
    tell("submitted", { job: ctx.job.id, id: submitted.id });
    return GOES_ON;
  },
  enqueue: ([job], ctx) => {
    ctx.enqueue(decode(job) as NewJob);
    return GOES_ON;
  },
  parent: ([ref], ctx) => ctx.parent(ref),
  grow: ([{ members = [], skip = [] }], ctx) => {
    for (const { ref, job, ...needs } of decode(members) as NewMember[]) {
      ctx.add(ref as string, job, needs);
    }
    for (const ref of skip) ctx.skip(ref);
    return GOES_ON;
  },
  on_attempt: ([n, steps], ctx, client, tell) =>
    ctx.job.attempt === n ? play(client, steps, ctx, tell) : GOES_ON,
  return: ([value]) => value,
  fail: ([message]) => {
    throw new Error(halved(message));
  },
  fail_indescribably: () => {
    throw new Indescribable();
  },
  panic: ([message]) => {
    throw new Error(message);
  },
  non_retryable: ([message]) => {
    throw new NonRetryable(halved(message));
  },
  snooze: ([ms]) => snooze(ms),
  retry_after: ([ms, message]) => retryAfter(ms, message),
  cancel: ([reason]) => cancel(reason),
  bad_result: () => () => undefined,
  broken_result: () => ({
    toJSON: () => {
      throw new Error("no JSON");
    },
  }),
  exit: () => process.reallyExit(9),
};

declare global {
  namespace NodeJS {
    interface Process {
      /** Ends the process at once, without any clean-up. */
      reallyExit(code: number): never;
    }
  }
}
