// The program of the test below: a worker whose handler computes without a pause, for ever.
import { writeSync } from "node:fs";

import { Millrace } from "@millrace/sdk";

const [url, queue, looks] = process.argv.slice(2) as [string, string, string?];
const worker = new Millrace({ url }).worker({ queues: [queue] });
worker.on("compute", (_, ctx) => {
  writeSync(1, "begun\n");
  for (;;) if (looks && ctx.stopping && ctx.stopReason) throw new Error(ctx.stopReason);
});
await worker.run();
