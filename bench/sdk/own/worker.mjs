// Millrace for TypeScript.
import { Millrace } from "@millrace/sdk";
import { tally } from "./tally.mjs";

const [, jobs, port] = process.argv.slice(2);
const ran = tally(+jobs);
const client = new Millrace({ url: `http://127.0.0.1:${port}` });
await client.worker({ concurrency: 16 }).on("bench.empty", async () => ran()).run();
