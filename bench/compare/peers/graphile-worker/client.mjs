// graphile-worker: addJobs of a batch; "batched" is its local queue, of a batch but 500 at most, with batched completion,
// "defaults" sets only the concurrency.
import { makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { inParts, main, payloadOf } from "./harness.mjs";

const kMostQueued = 500;
const kConcurrency = 24;
const kPool = 25;
const kQuiet = { scope: () => kQuiet, error: console.error, warn() {}, info() {}, debug() {} };
const kBatched = (size) => ({ localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 });
const modeOf = (batch) => process.env.MODE === "batched" ? kBatched(Math.min(batch, kMostQueued)) : {};

const connectionString = (port) => `postgres://bench@127.0.0.1:${port}/bench`;

async function producer({ jobs, batch, payload, port }) {
  const utils = await makeWorkerUtils({ connectionString: connectionString(port), logger: kQuiet });
  const job = { identifier: "bench", payload: payloadOf(payload) };
  return () => inParts(jobs, batch, 1, (count) => utils.addJobs(Array(count).fill(job)));
}

async function worker({ jobs, batch, port }) {
  let done = 0;
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  await run({
    logger: kQuiet,
    taskList: { bench: () => { if (++done === jobs) finish(); } },
    preset: { worker: {
      connectionString: connectionString(port), concurrentJobs: kConcurrency, maxPoolSize: kPool, ...modeOf(batch) } },
  });
  const client = new pg.Client({ connectionString: connectionString(port) });
  await client.connect();
  return async () => {
    await finished;
    // A job is complete once its row has been deleted.
    const left = "SELECT 1 FROM graphile_worker._private_jobs LIMIT 1";
    while ((await client.query(left)).rowCount > 0) await new Promise((next) => setTimeout(next, 2));
    return done;
  };
}

await main({ producer, worker });
