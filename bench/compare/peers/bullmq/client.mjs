// BullMQ: addBulk of a batch, one worker with a concurrency of 50; finished jobs are removed at once.
import { Queue, Worker } from "bullmq";
import { inParts, main, payloadOf } from "./harness.mjs";

const kQueue = "bench";
const kConcurrency = 50;

const connection = (port) => ({ host: "127.0.0.1", port, maxRetriesPerRequest: null });

async function producer({ jobs, batch, payload, port }) {
  const queue = new Queue(kQueue, { connection: connection(port), defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  const job = { name: "bench", data: payloadOf(payload) };
  return () => inParts(jobs, batch, 1, (count) => queue.addBulk(Array(count).fill(job)));
}

async function worker({ jobs, port }) {
  const worker = new Worker(kQueue, async () => {}, { connection: connection(port), concurrency: kConcurrency });
  await worker.waitUntilReady();
  let done = 0;
  const finished = new Promise((resolve, reject) => {
    worker.on("completed", () => ++done === jobs && resolve());
    worker.on("failed", (job, fault) => reject(fault));
    worker.on("error", reject);
  });
  return async () => {
    await finished;
    return done;
  };
}

await main({ producer, worker });
