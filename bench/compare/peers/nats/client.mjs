// NATS JetStream: a work-queue stream in files, asynchronous publishing in windows, one durable pull consumer that
// keeps up to 1,000 messages coming (faster than fetching by 100) and acknowledges each.
import { AckPolicy, connect, RetentionPolicy, StorageType } from "nats";
import { inParts, main } from "./harness.mjs";

const kStream = "jobs";
const kConsumer = "workers";
const kLanes = 8;
const kBuffered = 1000;

async function producer({ jobs, batch, payload, port }) {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const stream = connection.jetstream();
  const body = Buffer.alloc(payload, "x");
  const publish = (count) => Promise.all(Array.from({ length: count }, () => stream.publish("jobs.bench", body)));
  return () => inParts(jobs, batch, kLanes, publish);
}

async function worker({ jobs, port }) {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await connection.jetstreamManager();
  await manager.streams.add({
    name: kStream, subjects: ["jobs.*"], retention: RetentionPolicy.Workqueue, storage: StorageType.File });
  await manager.consumers.add(kStream, {
    durable_name: kConsumer, ack_policy: AckPolicy.Explicit, max_ack_pending: 100_000 });
  const consumer = await connection.jetstream().consumers.get(kStream, kConsumer);
  return async () => {
    let done = 0;
    for await (const message of await consumer.consume({ max_messages: kBuffered })) {
      message.ack();
      if (++done === jobs) break;
    }
    await connection.flush();
    // An acknowledged message is removed from a work queue, so the rest is unfinished.
    while ((await manager.streams.info(kStream)).state.messages > 0) await new Promise((next) => setTimeout(next, 2));
    return done;
  };
}

await main({ producer, worker });
