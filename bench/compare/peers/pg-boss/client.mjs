// pg-boss: insert of a batch, four loops that fetch and complete a batch, but 500 at most, at a time.
import { PgBoss } from "pg-boss";
import { inParts, main, payloadOf } from "./harness.mjs";

const kQueue = "bench";
const kMostFetched = 500;
const kLanes = 2;
const kLoops = 4;

async function start(port) {
  const boss = new PgBoss({
    host: "127.0.0.1", port, user: "bench", database: "bench", max: 8, supervise: false, schedule: false });
  boss.on("error", (fault) => { throw fault; });
  await boss.start();
  return boss;
}

async function producer({ jobs, batch, payload, port }) {
  const boss = await start(port);
  const job = { data: payloadOf(payload) };
  return () => inParts(jobs, batch, kLanes, (count) => boss.insert(kQueue, Array(count).fill(job)));
}

async function worker({ jobs, batch, port }) {
  const boss = await start(port);
  await boss.createQueue(kQueue);
  let done = 0;
  const loop = async () => {
    while (done < jobs) {
      const fetched = await boss.fetch(kQueue, { batchSize: Math.min(batch, kMostFetched) });
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
