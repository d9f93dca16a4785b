// Submits 2,000 e-mails, sends them by a mail server that sometimes fails, and then stops.
import { setTimeout as sleep } from "node:timers/promises";
import { Millrace, NonRetryable } from "@millrace/sdk";

const mr = new Millrace(); // MILLRACE_URL, else http://127.0.0.1:7600
const retry = { strategy: "fixed", base: 100 } as const;
const mail = mr.job<{ n: number; to: string }>("mail.send", { queue: "emails", retry });

const addresses = Array.from({ length: 2_000 }, (_, n) => (n % 100 ? `user${n}@example.org` : "?"));
const jobs = addresses.map((to, n) => mail.make({ n, to }, { idempotencyKey: `news-7/${n}` }));
for (let i = 0; i < jobs.length; i += 500) {
  const items = await mr.submitBatch(jobs.slice(i, i + 500)); // again: the same jobs, none twice
  for (const { error } of items) if (error) throw error;
}

const worker = mr.worker({ queues: ["emails"], concurrency: 100 });
worker.on(mail, async ({ n, to }, ctx) => {
  if (!to.includes("@")) throw new NonRetryable(`${to} is no address`); // a dead letter
  if (n % 7 === 0 && ctx.job.attempt === 1) throw new Error("the mail server is busy"); // retried
  await sleep(1, undefined, { signal: ctx.signal });
});
worker.start();

const counts = async () => (await mr.queue("emails")).counts;
const left = ({ ready, running, retrying }: Awaited<ReturnType<typeof counts>>) =>
  ready + running + retrying;
while (left(await counts()) > 0) await sleep(100);
await worker.stop();
const { succeeded, dead } = await counts();
console.log(`${succeeded} sent, ${dead} dead`);
