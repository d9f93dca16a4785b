// pg-boss: insert by 1,000, four loops that fetch and complete 500 at a time.
import { PgBoss } from "pg-boss";
import { inParts, main, payloadOf } from "./harness.mjs";

const kQueue = "bench";
const kBulk = 1000;
const kFetch = 500;
const kLoops = 4;

async function start(port) {
  const boss = new PgBoss({
    host: "127.0.0.1", port, user: "bench", database: "bench", max: 8, supervise: false, schedule: false });
  boss.on("error", (fault) => { throw fault; });
  await boss.start();
  return boss;
}

async function producer({ jobs, payload, port }) {
  const boss = await start(port);
  const job = { data: payloadOf(payload) };
  return () => inParts(jobs, kBulk, 1, (count) => boss.insert(kQueue, Array(count).fill(job)));
}

async function worker({ jobs, port }) {
  const boss = await start(port);
  await boss.createQueue(kQueue);
  let done = 0;
  const loop = async () => {
    while (done < jobs) {
      const fetched = await boss.fetch(kQueue, { batchSize: kFetch });
      if (fetched.length === 0) {
        await new Promise((next) => setTimeout(next, 2));
        continue;
      }
      await boss.complete(kQueue, fetched.map((job) => job.id));
      done += fetched.length;
    }
  };
  return async () => {
    await Promise.all(Array.from({ length: kLoops }, loop));
    return done;
  };
}

await main({ producer, worker });
