// The protocol between a Node client and bench/compare/run: the client connects, prints "ready", waits for a line, does
// its work, and prints the number of jobs it has completed. The driver takes the time from the line to the last answer.
import { createInterface } from "node:readline";

export async function main(roles) {
  const [role, jobs, batch, payload, port] = process.argv.slice(2);
  const options = { jobs: +jobs, batch: +batch, payload: +payload, port: +port };
  const work = await roles[role](options);
  const lines = createInterface({ input: process.stdin });
  console.log("ready");
  await new Promise((resolve) => lines.once("line", resolve));
  console.log(JSON.stringify({ jobs: await work() }));
  process.exit(0);
}

// An object whose JSON has this many bytes.
export function payloadOf(bytes) {
  return { text: "x".repeat(bytes - '{"text":""}'.length) };
}

// Calls step(size) for parts of at most `size` until `jobs` are spent, `lanes` calls at a time.
export async function inParts(jobs, size, lanes, step) {
  let left = jobs;
  const lane = async () => {
    while (left > 0) {
      const part = Math.min(size, left);
      left -= part;
      await step(part);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return jobs;
}
