// Measures how soon the dashboard draws the server's answers, with many jobs and queues.
//
//   bench/dashboard/run [--jobs N] [--queues N] [--runs N]     1,000,000 jobs, 10,000 queues, 5 visits of each page
//
// Starts its own server, fills it, and opens each page in Chromium. For each page it prints the median and the longest
// time from the arrival of an answer's last byte to the second frame after it, when its content is on the screen, and
// how long the answer itself took. Needs Debian's Chromium, and web/node_modules as web/build fetches them.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, newPage } from "../../web/test/browser.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const options = { jobs: 1_000_000, queues: 10_000, runs: 5 };
for (let i = 2; i < process.argv.length; i += 2) {
  const name = process.argv[i].replace(/^--/, "");
  const value = Number(process.argv[i + 1]);
  if (!(name in options) || !Number.isInteger(value) || value < 1) {
    console.error(`usage: bench/dashboard/run [--jobs N] [--queues N] [--runs N]`);
    process.exit(2);
  }
  options[name] = value;
}
const binary = process.env.MILLRACE_BIN ?? join(root, "build/release/millrace");

const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port: free } = probe.address();
    probe.close(() => resolve(free));
  });
});
const url = `http://127.0.0.1:${port}`;
const folder = mkdtempSync(join(tmpdir(), "millrace-dashboard-bench-"));
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_")));
const server = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, "--data", folder, "--drain", "0s"], { env: environment, stdio: "ignore" });
const end = () => {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
};

async function post(path, body) {
  for (;;) {
    const answer = await fetch(`${url}${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text);
    if (![429, 503].includes(answer.status)) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function fill() {
  let sent = 0;
  const send = async () => {
    while (sent < options.jobs) {
      const first = sent;
      sent += 1000;
      const jobs = Array.from({ length: Math.min(1000, options.jobs - first) }, (_, i) => ({
        type: `type-${(first + i) % 50}`, queue: `team-${(first + i) % options.queues}`, priority: i % 3, payload: { n: first + i, user: { id: (first + i) % 5000 } }, tags: [`t${i % 7}`],
      }));
      await post("/v1/jobs/batch", { jobs });
      if ((first / 1000) % 50 === 0) process.stderr.write(`\rsubmitted ${first + jobs.length} of ${options.jobs}`);
    }
  };
  await Promise.all([send(), send(), send(), send()]);
  process.stderr.write("\n");
}

const pages = {
  overview: "#/", queues: "#/queues", queue: "#/queues/team-1", jobs: "#/jobs", "a search": "#/jobs?q=type:type-7 priority:2", "a search in payloads": "#/jobs?q=payload.user.id:4321",
};
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

try {
  for (let i = 0; i < 200; ++i) {
    if (await fetch(`${url}/readyz`).then((answer) => answer.ok, () => false)) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await fill();
  await fetch(`${url}/v1/jobs?limit=1&fresh=true`);
  const browser = await launch();
  console.log(`${options.jobs} jobs in ${options.queues} queues\n`);
  console.log("PAGE                   DRAWN, MEDIAN    LONGEST     ANSWERS, MEDIAN    LONGEST");
  for (const [name, place] of Object.entries(pages)) {
    const drawn = [];
    const answered = [];
    for (let run = 0; run < options.runs; ++run) {
      const page = await newPage(browser);
      await page.addInitScript(() => {
        window.drawn = [];
        Response.prototype.json = async function () {
          const text = await this.text();
          const arrived = performance.now();
          requestAnimationFrame(() => requestAnimationFrame(() => window.drawn.push(performance.now() - arrived)));
          return JSON.parse(text);
        };
      });
      await page.goto(`${url}/${place}`);
      await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector("[aria-busy=true]"));
      await page.waitForTimeout(1500);
      drawn.push(...(await page.evaluate(() => window.drawn)));
      answered.push(...(await page.evaluate(() => performance.getEntriesByType("resource").filter((each) => each.name.includes("/v1/") && !each.name.includes("/v1/events")).map((each) => each.duration))));
      await page.context().close();
    }
    const ms = (value) => `${Math.round(value)} ms`.padStart(8);
    console.log(`${name.padEnd(24)} ${ms(median(drawn))}   ${ms(Math.max(...drawn))}            ${ms(median(answered))}   ${ms(Math.max(...answered))}`);
  }
  await browser.close();
} finally {
  end();
}
