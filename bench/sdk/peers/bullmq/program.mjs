// BullMQ: addBulk of 1,000, one worker with a concurrency of 16; finished jobs are removed at once.
import { Queue, Worker } from "bullmq";
import { tally } from "./tally.mjs";

const [role, jobs, port] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: +port, maxRetriesPerRequest: null };

async function enqueue() {
  const queue = new Queue("bench", { connection, defaultJobOptions: { removeOnComplete: true } });
  const job = { name: "empty", data: { to: "ada@example.org" } };
  for (let left = +jobs; left > 0; left -= 1000) await queue.addBulk(Array(Math.min(1000, left)).fill(job));
  await queue.close();
  console.log("ended", JSON.stringify({ jobs: +jobs }));
}

function work() {
  const ran = tally(+jobs);
  const worker = new Worker("bench", async () => ran(), { connection, concurrency: 16 });
  worker.on("error", (fault) => console.error("error:", fault));
  process.on("SIGTERM", () => void worker.close().then(() => process.exit(0)));
}

await (role === "enqueue" ? enqueue() : work());
