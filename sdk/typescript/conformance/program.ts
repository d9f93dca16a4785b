// This SDK's program for the conformance suite, described in sdk/conformance/README.md.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { decode, encode } from "#dist/wire.js";
import {
  exactJson,
  Fake,
  Millrace,
  MillraceError,
  plainJson,
  RawJson,
  VERSION,
  WorkflowBuilder,
  type CallOptions,
  type Context,
  type NewMember,
  type NewWorkflow,
  type Worker,
} from "@millrace/sdk";

import { playScript } from "./script.js";

type Command = Record<string, any>; // the suite's members, in this package's spelling

const workers = new Map<string, Worker>();
let client = new Millrace({ json: exactJson });

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function tell(event: string, members: Record<string, unknown>): void {
  write(exactJson.stringify({ event, ...members }));
}

function shownError(error: unknown): Record<string, unknown> {
  const { name, message } = error as Error;
  if (!(error instanceof MillraceError)) return { class: name, code: null, status: null, message };
  const { code, status = null, retryAfter = null, errors, requestId = null } = error;
  const details = { retry_after_ms: retryAfter, errors, request_id: requestId };
  return { class: name, code, status, message, ...details };
}

const logger = {
  info: (message: string): void => tell("log", { level: "info", message }),
  warn: (message: string): void => tell("log", { level: "warn", message }),
};

function configured(command: Command): Millrace {
  const { url, token, timeout, queueFullTimeout, caFile } = command;
  if (command.fake) return fakeFor(command.fake, command.types ?? []);
  const ca = caFile && readFileSync(caFile);
  return new Millrace({ url, token, timeout, queueFullTimeout, ca, json: exactJson });
}

let fake: Fake | undefined;

function fakeFor(mode: "inline" | "drained", types: string[]): Fake {
  fake = new Fake({ mode, json: exactJson });
  for (const type of types) attach(fake, type);
  return fake;
}

function attach(to: Fake, type: string): void {
  to.on(type, (payload: any, ctx) => playScript(to, "fake", payload?.script ?? [], ctx, tell));
}

async function drained(types: string[] = []): Promise<number> {
  if (!fake) throw new Error("there is no fake");
  for (const type of types) if (!fake.handles(type)) attach(fake, type);
  return fake.drain();
}

function startWorker(command: Command): Worker {
  const { name, queues, types, concurrency, lease, pollWait, grace, version, middleware } = command;
  const options = { queues, concurrency, lease, pollWait, grace, version };
  const worker = client.worker({ ...options, logger });
  const play = (payload: any, ctx: Context): Promise<unknown> =>
    playScript(client, name, payload?.script ?? [], ctx, tell);
  for (const type of types) worker.on(type, play);
  if (middleware) {
    worker.use(async (ctx, next) => {
      tell("middleware", { job: ctx.job.id, phase: "before" });
      try {
        return await next();
      } finally {
        tell("middleware", { job: ctx.job.id, phase: "after" });
      }
    });
  }
  workers.set(name, worker);
  worker.run().then(
    () => tell("worker_ended", { worker: name, error: null }),
    (error: unknown) => tell("worker_ended", { worker: name, error: shownError(error) }),
  );
  return worker;
}

// A workflow goes through the builder.
function built({ name, members = [], ...rest }: NewWorkflow): WorkflowBuilder {
  const flow = new WorkflowBuilder(name, rest);
  for (const { ref, job, ...needs } of members as NewMember[]) {
    if (ref === undefined) flow.add(job, needs);
    else flow.add(ref, job, needs);
  }
  return flow;
}

const ifMatch = (c: Command) => (c.ifMatch == null ? {} : { ifMatch: Number(c.ifMatch) });

const actions: Record<string, (command: Command) => unknown> = {
  hello: () => ({ sdk: "typescript", version: VERSION }),
  configure: (c) => {
    client = configured(c);
    return {};
  },
  makeId: (c) => ({ id: client.makeId(c.queue) }),
  submit: (c) => client.submit(c.job),
  submitBatch: async (c) => {
    const items = await client.submitBatch(c.jobs, { atomic: c.atomic });
    return { items: items.map((item) => ({ ...item, error: item.error && problem(item.error) })) };
  },
  get: (c) => client.get(c.job, { include: c.include }),
  wait: (c) => client.wait(c.job, { timeout: c.timeout }),
  list: (c) => client.list(c.filter, c as CallOptions),
  listAll: async (c) => {
    const ids: string[] = [];
    for await (const job of client.listAll(c.filter, { limit: c.limit })) ids.push(job.id);
    return { ids };
  },
  logs: (c) => client.logs(c.job),
  cancel: (c) => client.cancel(c.job, { reason: c.reason }),
  retry: (c) => client.retry(c.job),
  delete: (c) => client.delete(c.job),
  queues: () => client.queues({ limit: 1_000 }),
  queue: (c) => client.queue(c.name),
  putQueue: (c) => client.putQueue(c.name, c.settings, ifMatch(c)),
  patchQueue: (c) => client.patchQueue(c.name, c.settings, { ...ifMatch(c), create: c.create }),
  pauseQueue: (c) => client.pauseQueue(c.name, { reason: c.reason, create: c.create }),
  resumeQueue: (c) => client.resumeQueue(c.name),
  deleteQueue: (c) => client.deleteQueue(c.name, { force: c.force }),
  schedules: (c) => client.schedules({ managedBy: c.managedBy, limit: 1_000 }),
  schedule: (c) => client.schedule(c.name),
  putSchedule: (c) => client.putSchedule(c.name, c.spec, ifMatch(c)),
  deleteSchedule: (c) => client.deleteSchedule(c.name, ifMatch(c)),
  pauseSchedule: (c) => client.pauseSchedule(c.name, { reason: c.reason }),
  resumeSchedule: (c) => client.resumeSchedule(c.name),
  triggerSchedule: (c) => client.triggerSchedule(c.name, { scheduledAt: c.spec?.scheduledAt }),
  backfillSchedule: (c) => client.backfillSchedule(c.name, c.spec),
  scheduleRuns: async (c) => ({ items: await client.scheduleRuns(c.name) }),
  previewSchedule: (c) => client.previewSchedule(c.spec),
  applySchedules: (c) => client.applySchedules({ managedBy: c.managedBy, ...c.spec }),
  limits: () => client.limits({ limit: 1_000 }),
  limit: (c) => client.limit(c.name),
  putLimit: (c) => client.putLimit(c.name, c.settings, ifMatch(c)),
  patchLimit: (c) => client.patchLimit(c.name, c.settings, ifMatch(c)),
  pauseLimit: (c) => client.pauseLimit(c.name, { reason: c.reason }),
  resumeLimit: (c) => client.resumeLimit(c.name),
  deleteLimit: (c) => client.deleteLimit(c.name, { force: c.force }),
  bulk: (c) => client.bulk(c.request),
  operations: (c) => client.operations({ state: c.state }),
  operation: (c) => client.operation(c.operation),
  pauseOperation: (c) => client.pauseOperation(c.operation),
  resumeOperation: (c) => client.resumeOperation(c.operation),
  cancelOperation: (c) => client.cancelOperation(c.operation),
  createWorkflow: (c) => client.createWorkflow(built(c.workflow)),
  workflow: (c) => client.workflow(c.workflow, { include: c.include }),
  waitWorkflow: (c) => client.waitWorkflow(c.workflow, { timeout: c.timeout }),
  workflows: (c) => client.workflows(c.filter, c as CallOptions),
  allWorkflows: async (c) => {
    const ids: string[] = [];
    for await (const each of client.workflowsAll(c.filter, { limit: c.limit })) ids.push(each.id);
    return { ids };
  },
  workflowMembers: ({ workflow, state, include, limit, cursor }) =>
    client.workflowMembers(workflow, { state, include, limit, cursor }),
  allMembers: async (c) => {
    const numbers: number[] = [];
    const all = client.workflowMembersAll(c.workflow, { limit: c.limit });
    for await (const member of all) numbers.push(member.number);
    return { numbers };
  },
  workflowMember: ({ workflow, ref, include, wait }) =>
    client.workflowMember(workflow, ref, { include, wait }),
  workflowGraph: (c) => client.workflowGraph(c.workflow, { cursor: c.cursor }),
  whyWorkflow: (c) => client.whyWorkflow(c.workflow),
  addMembers: ({ workflow, request, idempotencyKey }) => {
    const { members, by, close } = request;
    return client.addMembers(workflow, members, { by, close, idempotencyKey });
  },
  closeWorkflow: (c) => client.closeWorkflow(c.workflow),
  cancelWorkflow: (c) => client.cancelWorkflow(c.workflow, { reason: c.reason }),
  retryWorkflow: (c) => client.retryWorkflow(c.workflow, c.request),
  skipMember: (c) => client.skipMember(c.workflow, c.ref),
  deleteWorkflow: (c) => client.deleteWorkflow(c.workflow),
  workers: () => client.workers(),
  why: (c) => client.why(c.job),
  events: ({ job, types, queues, wait, limit, cursor }) =>
    client.events({ job, types, queues, wait }, { limit, cursor }),
  stats: ({ window, step, by, name }) => client.stats({ window, step, by, name }),
  call: async (c) => new RawJson(plainJson.stringify((await raw(c)) ?? {})),
  drain: async (c) => ({ ran: await drained(c.types) }),
  advance: (c) => fake?.advance(c.ms),
  enqueued: (c) => ({ jobs: fake?.enqueued(c.type) }),
  worker: (c) => ({ workerId: startWorker(c).id }),
  stop: async (c) => {
    await workers
      .get(c.name)
      ?.stop()
      .catch(() => undefined); // the event tells the error
    return {};
  },
};

// The names in a query, a body and the answer of `call` are the API's.
const raw = ({ given, method, path, query }: Command): Promise<unknown> =>
  client.call(method, path, { query, body: given.body });

function problem(error: MillraceError): Record<string, unknown> {
  const { code, status, message: detail, errors } = error;
  return { code, status, detail, errors };
}

async function obey(line: string): Promise<void> {
  const given = Object.entries(exactJson.parse(line) as Command).filter(
    ([, value]) => value !== null,
  );
  const command = decode(Object.fromEntries(given)) as Command;
  command.given = Object.fromEntries(given);
  const id = JSON.stringify(command.id);
  const action = command.do.replace(/_([a-z])/g, (_: string, letter: string) =>
    letter.toUpperCase(),
  );
  try {
    const value = await actions[action]!(command);
    const text = value instanceof RawJson ? value.text : encode(value ?? {}, exactJson);
    write(`{"id":${id},"ok":${text}}`);
  } catch (error) {
    write(`{"id":${id},"error":${JSON.stringify(shownError(error))}}`);
  }
}

async function endWith(workersDo: (worker: Worker) => Promise<void>): Promise<void> {
  await Promise.allSettled([...workers.values()].map(workersDo));
  process.stdout.write("", () => process.exit(0));
}

// The workers themselves stop at a signal.
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, () => void endWith((worker) => worker.ended));
}
createInterface({ input: process.stdin })
  .on("line", (line) => void obey(line))
  .on("close", () => void endWith((worker) => worker.stop()));
