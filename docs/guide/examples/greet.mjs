// A producer and a worker in one program.
import { Millrace } from "@millrace/sdk";

const mr = new Millrace(); // MILLRACE_URL, MILLRACE_TOKEN
const greet = mr.job("greet", { queue: "greetings" });

const worker = mr.worker({ queues: ["greetings"], concurrency: 4 }).on(greet, async ({ name }, ctx) => {
  ctx.progress(50, "halfway");
  return `Hello, ${name}`;
});
worker.start(); // a service would call worker.run()

const { job } = await greet.submit({ name: "Ada" });
console.log((await greet.wait(job.id, { timeout: 30_000 })).result);
await worker.stop();
