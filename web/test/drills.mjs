// Drills with a server that has a problem. Each begins on the overview, finds the cause there, and solves it with the
// actions of the page, as a person would.
//
//   node test/drills.mjs MILLRACE [NAME]
//
// Prints the clicks and the time of each. Exits with 1 if one failed, with 77 if there is no browser.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { executable, launch, newPage } from "./browser.mjs";
import { Server, sleep, until } from "./server.mjs";

const [, , binary, only] = process.argv;
if (!executable) {
  console.log("skipped: there is no Chromium here");
  process.exit(77);
}

// Starts a worker of one queue; sh runs `script` for each job.
function startWorker(server, queue, script, ...flags) {
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_")));
  const child = spawn(binary, ["work", "--url", server.url, "-q", queue, ...flags, "--", "sh", "-c", script], {
    env: environment,
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return {
    stop: async (signal = "SIGKILL") => {
      child.kill(signal);
      await ended;
    },
  };
}

const concern = (page, text) => page.locator(".attention li").filter({ hasText: text });
const submit = (server, count, job) =>
  server.call("POST", "/v1/jobs/batch", { jobs: Array.from({ length: count }, () => job) });

const drills = [];
const drill = (name, flags, prepare, mend) => drills.push({ name, flags, prepare, mend });

drill(
  "a dead fleet of workers",
  () => [],
  async (server) => {
    const worker = startWorker(server, "mail", "true");
    await submit(server, 1, { type: "mail", queue: "mail" });
    await until("the worker works", async () => (await server.call("GET", "/v1/queues/mail")).counts.succeeded === 1);
    await worker.stop("SIGTERM");
    await submit(server, 20, { type: "mail", queue: "mail" });
    await sleep(6000);
  },
  async (page, server, click) => {
    const told = concern(page, "No worker takes jobs from mail");
    await told.waitFor();
    const text = await told.innerText();
    const command = /millrace work -q (\S+) -- COMMAND/.exec(text);
    assert.ok(command, text);
    const worker = startWorker(server, command[1], "true", "-c", "8");
    try {
      await concern(page, "No worker takes jobs from mail").waitFor({ state: "detached" });
      // The machine may have a finding of its own.
      const all = page.locator(".attention li");
      const others = all.filter({ hasNotText: /disk is nearly full|syncs are slow/ });
      await until("all else is well", async () => (await others.count()) === 0);
    } finally {
      await worker.stop();
    }
    void click;
  },
);

drill(
  "a paused queue",
  () => [],
  async (server) => {
    await submit(server, 20, { type: "mail", queue: "mail" });
    await server.call("POST", "/v1/queues/mail/pause", { reason: "the provider moves house" });
    return startWorker(server, "mail", "true");
  },
  async (page, server, click) => {
    await concern(page, "Queue mail is paused").getByText("the provider moves house").waitFor();
    await click(concern(page, "Queue mail is paused").getByRole("button", { name: "Resume" }));
    await until("the jobs run", async () => (await server.call("GET", "/v1/queues/mail")).counts.succeeded > 0);
    await concern(page, "Queue mail is paused").waitFor({ state: "detached" });
  },
);

drill(
  "a full limit",
  () => [],
  async (server) => {
    await server.call("PUT", "/v1/limits/crm", { concurrency: 1 });
    // The jobs take minutes, one after the other, which is the time to find the limit.
    await submit(server, 300, { type: "sync", queue: "sync", limits: [{ name: "crm" }] });
    const worker = startWorker(server, "sync", "sleep 2", "-c", "8");
    await until("one holds it", async () => (await server.call("GET", "/v1/limits/crm")).in_use === 1);
    return worker;
  },
  async (page, server, click) => {
    await concern(page, "Limit crm is full").getByText("1 of 1 in use").waitFor();
    await click(concern(page, "Limit crm is full").getByRole("link", { name: "Limit" }));
    await page.getByRole("table", { name: "Holders" }).locator("tbody tr").first().waitFor();
    await click(page.getByRole("button", { name: "More" }));
    await click(page.getByRole("menuitem", { name: "Edit" }));
    await page.getByRole("spinbutton", { name: "Concurrency" }).fill("8");
    await click(page.getByRole("button", { name: "Save", exact: true }));
    await until("eight run", async () => (await server.call("GET", "/v1/limits/crm")).in_use > 1);
  },
);

drill(
  "a poison type",
  () => [],
  async (server) => {
    await submit(server, 25, { type: "resize", queue: "images", max_attempts: 1 });
    await submit(server, 25, { type: "mail", queue: "images" });
    const worker = startWorker(
      server,
      "images",
      'if [ "$MILLRACE_TYPE" = resize ]; then echo "cannot open image.png" >&2; exit 1; fi',
      "-c",
      "4",
    );
    await until("they died", async () => (await server.call("GET", "/v1/queues/images")).counts.dead === 25);
    await worker.stop("SIGTERM");
    return startWorker(server, "images", "true", "-c", "4"); // the mended one
  },
  async (page, server, click) => {
    const told = concern(page, "25 jobs of type resize died").filter({ hasText: "% of their attempts" });
    await told.waitFor();
    await click(told.getByRole("link", { name: "Errors" }));
    await click(page.getByRole("table", { name: "Errors" }).getByRole("link").first());
    await click(page.getByRole("button", { name: "Retry one" }));
    await page.getByText("went well").waitFor();
    await click(page.getByRole("button", { name: /Retry all/ }));
    await click(page.getByRole("button", { name: "Retry them" }));
    await page.locator(".badge", { hasText: "completed" }).waitFor();
    await until(
      "all have succeeded",
      async () => (await server.call("GET", "/v1/queues/images")).counts.succeeded === 50,
    );
  },
);

drill(
  "a broken schedule",
  (folder) => {
    const zones = join(folder, "zoneinfo");
    mkdirSync(join(zones, "Europe"), { recursive: true });
    for (const file of ["tzdata.zi", "zone1970.tab", "UTC", "Europe/Zurich"])
      cpSync(join("/usr/share/zoneinfo", file), join(zones, file), { dereference: true });
    return ["--zoneinfo", zones];
  },
  async (server) => {
    await server.call("PUT", "/v1/schedules/nightly", {
      cron: "30 2 * * *",
      timezone: "Europe/Zurich",
      job: { type: "report", queue: "reports" },
    });
    await submit(server, 1, { type: "report", queue: "elsewhere", delay_ms: 3_600_000 });
    await server.stop();
    renameSync(join(server.flags[1], "Europe/Zurich"), join(dirname(server.flags[1]), "gone"));
    await server.start();
    // The server reads the time zone when it plans the next instant.
    await server.call("POST", "/v1/schedules/nightly/pause", {});
    await server.call("POST", "/v1/schedules/nightly/resume", {});
    await until("it is broken", async () => (await server.call("GET", "/v1/schedules/nightly")).state === "broken");
  },
  async (page, server, click) => {
    const told = concern(page, "Schedule nightly is broken");
    await told.waitFor();
    await click(told.getByRole("link", { name: "Schedule" }));
    await page.getByText("Europe/Zurich").first().waitFor();
    await click(page.getByRole("button", { name: "Edit", exact: true }));
    await page.getByLabel("Zone").fill("UTC");
    await click(page.getByRole("button", { name: "Save", exact: true }));
    await until("it is active", async () => (await server.call("GET", "/v1/schedules/nightly")).state === "active");
  },
);

const browser = await launch();
let failed = 0;
for (const { name, flags, prepare, mend } of drills) {
  if (only && !name.includes(only)) continue;
  const folder = mkdtempSync(join(tmpdir(), "millrace-drill-"));
  const server = new Server(binary, "", flags(folder));
  let worker;
  try {
    await server.start();
    worker = await prepare(server);
    const page = await newPage(browser);
    let clicks = 0;
    const began = Date.now();
    await page.goto(`${server.url}/`);
    await mend(page, server, async (on) => {
      ++clicks;
      await on.click();
    });
    console.log(`ok      ${name}: ${clicks} clicks, ${((Date.now() - began) / 1000).toFixed(1)} s`);
    await page.context().close();
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n${String(error.stack ?? error).slice(0, 4000)}`);
  } finally {
    await worker?.stop();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
await browser.close();
process.exitCode = failed > 0 ? 1 : 0;
