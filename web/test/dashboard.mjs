// Tests of the dashboard in a real browser, against a server that is filled here.
//
//   node test/dashboard.mjs MILLRACE|http://HOST:PORT [NAME]     see harness.mjs
import assert from "node:assert/strict";
import { newPage, widths } from "./browser.mjs";
import { hostile } from "./hostile.mjs";
import { binary, claim, drawsEverywhere, run, settle, test, visit } from "./harness.mjs";
import { Server, kPatience, newToken, sleep, until } from "./server.mjs";

const kBig = "123456789012345678901234567890";

async function fill(server) {
  await server.call("PUT", "/v1/queues/mail", {
    concurrency: 5,
    max_attempts: 2,
    retry: { strategy: "fixed", base_ms: 0 },
  });
  await server.call("PUT", "/v1/limits/psp", { concurrency: 1 });
  await server.call("PUT", "/v1/limits/keyed", { concurrency: 1, per_key: true });
  await server.call("PUT", "/v1/types/slow", { concurrency: 2 });
  await server.call("PUT", "/v1/schedules/nightly", {
    cron: "30 2 * * *",
    timezone: "Europe/Zurich",
    job: { type: "report", queue: "reports", payload: { a: 1 } },
  });
  await server.call("POST", "/v1/queues/paused/pause?create=true", { reason: hostile[0] });
  const ids = {};
  const submit = async (name, body) => {
    ids[name] = (await server.call("POST", "/v1/jobs", body)).id;
    return ids[name];
  };
  await submit("big", `{"type":"big","queue":"big","payload":{"n": ${kBig},   "f":1.10}}`);
  await submit("waits", { type: "pay", queue: "mail", limits: [{ name: "psp" }] });
  await submit("scheduled", { type: "later", queue: "big", delay_ms: 3_600_000 });
  await submit("paused", { type: "held", queue: "paused" });
  const evils = hostile.map((text) => ({
    type: "evil",
    queue: "evil",
    payload: { text, [text]: 1 },
    meta: { text: text.slice(0, 500) },
    max_attempts: 1,
  }));
  await server.call("POST", "/v1/jobs/batch", { jobs: evils });
  const jobs = await claim(
    server,
    "evil",
    { id: "w1", host: hostile[1], version: hostile[2], labels: { a: hostile[3] } },
    evils.length,
  );
  await server.call("POST", "/v1/ack", {
    items: jobs.map((job, i) => ({
      id: job.id,
      token: job.lease.token,
      outcome: "failed",
      error: { type: `E ${hostile[i]}`.slice(0, 250), message: hostile[i], stack: hostile[i] },
      logs: [{ message: hostile[i] }],
    })),
  });
  ids.evil = jobs[1].id;
  ids.error = await until(
    "there is a group of errors",
    async () => (await server.call("GET", "/v1/error-groups?limit=1")).items[0]?.id,
  );
  ids.evils = jobs.map((job) => job.id);
  await submit("run", { type: "run", queue: "runs" });
  const [run] = await claim(server, "runs", { id: "w2" });
  await server.call("POST", `/v1/jobs/${ids.run}/heartbeat`, {
    token: run.lease.token,
    progress: { percent: 42, message: hostile[1] },
  });
  return ids;
}

const open = (ids) => ({
  overview: "#/",
  queues: "#/queues",
  queue: "#/queues/mail",
  "paused queue": "#/queues/paused",
  jobs: "#/jobs",
  "dead jobs": "#/jobs?q=state:dead",
  job: `#/jobs/${ids.evil}`,
  "running job": `#/jobs/${ids.run}`,
  "waiting job": `#/jobs/${ids.waits}`,
  log: `#/jobs/${ids.evil}?tab=logs`,
  errors: "#/errors",
  error: `#/errors/${ids.error}`,
  operations: "#/operations",
  audit: "#/audit",
  schedules: "#/schedules",
  schedule: "#/schedules/nightly",
  limits: "#/limits",
  limit: "#/limits/keyed",
  types: "#/limits?tab=types",
  workers: "#/workers",
  push: "#/push",
  events: "#/events",
  nodes: "#/nodes",
  settings: "#/settings",
  nowhere: "#/nowhere",
});

// Lists may be a second behind. After this call they include all jobs submitted before.
const listed = (server, q) => server.call("GET", `/v1/jobs?limit=1&fresh=true&q=${encodeURIComponent(q)}`);
test("every page draws, without a word in the console, and axe accepts it", async ({ browser, server, ids }) =>
  drawsEverywhere(browser, server, open(ids)));

test("what is hostile stays text", async ({ browser, server, ids }) => {
  const page = await newPage(browser);
  assert.ok(new Set(hostile).size >= 300 && ids.evils.length === hostile.length);
  const places = [...Object.values(open(ids)), ...ids.evils.map((id) => `#/jobs/${id}`)];
  for (const id of ids.evils.slice(0, 40)) places.push(`#/jobs/${id}?tab=logs`, `#/jobs/${id}?tab=attempts`);
  for (const text of hostile.filter((_, i) => i < 25 || i % 10 === 0)) {
    const part = encodeURIComponent(text);
    places.push(`#/jobs?q=${part}`, `#/queues/${part}`, `#/${part}`, `#/errors/${part}`, `#/audit?object=${part}`);
  }
  await page.goto(`${server.url}/`);
  for (const place of places) {
    await page.evaluate((hash) => (location.hash = hash), place);
    await page.waitForTimeout(40);
    assert.equal(await page.evaluate(() => window.pwned), undefined, place);
  }
  await visit(page, server, `#/jobs/${ids.evil}`);
  assert.ok((await page.locator("main").innerText()).includes(hostile[1]), "it is shown as it was sent");
  assert.equal(await page.locator("main img, main iframe, main script, main object").count(), 0);
  assert.deepEqual(
    page.faults.filter((fault) => !fault.includes("status of 4")),
    [],
  );
  await page.context().close();
});

test("a number of thirty digits is shown, copied and cloned as it was sent", async ({ browser, server, ids }) => {
  const page = await newPage(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  await visit(page, server, `#/jobs/${ids.big}`);
  assert.ok((await page.locator(".json").innerText()).includes(kBig));
  await page.getByRole("button", { name: "Copy the payload as it was sent" }).click();
  await page.waitForFunction(
    async (text) => (await navigator.clipboard.readText()) === text,
    `{"n": ${kBig},   "f":1.10}`,
  );
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Clone, or edit and submit anew" }).click();
  await page.getByRole("button", { name: "Enqueue", exact: true }).click();
  await page.getByRole("button", { name: "Show it" }).click();
  const shown = () => page.evaluate(() => location.hash.split("/").pop());
  const id = await until("the clone is shown", async () => (await shown()) !== ids.big && shown());
  const text = await (await fetch(`${server.url}/v1/jobs/${id}?include=payload`)).text();
  assert.ok(text.includes(`{"n": ${kBig},   "f":1.10}`), text);
  await page.context().close();
});

test("it says why a job waits, and mends it", async ({ browser, server, ids }) => {
  const page = await newPage(browser);
  await visit(page, server, `#/jobs/${ids.paused}`);
  await page.getByText("is paused: “").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Resumed").waitFor();
  assert.equal((await server.call("GET", "/v1/queues/paused")).paused, false);
  await visit(page, server, "#/queues/paused");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByLabel("Reason").fill("because");
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText("“because”", { exact: true }).waitFor();
  await page.context().close();
});

test("a filter is completed, stands in the address, and its jobs are changed together", async ({ browser, server }) => {
  for (let i = 0; i < 60; ++i) await server.call("POST", "/v1/jobs", { type: "many", queue: "many" });
  await listed(server, "queue:many");
  const page = await newPage(browser);
  await visit(page, server, "#/jobs");
  await page.getByLabel("Filter jobs").pressSequentially("sta");
  await page.getByRole("option", { name: "state:" }).click();
  await page.getByLabel("Filter jobs").pressSequentially("rea");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByLabel("Filter jobs").pressSequentially("queue:many");
  await page.keyboard.press("Enter");
  // The rows of the previous filter are faint until the new rows are there.
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll("tbody tr")];
    return (
      rows.length === 50 &&
      rows.every((row) => row.innerText.includes("many")) &&
      document.querySelector(".scroll").style.opacity === "1"
    );
  });
  await page.waitForFunction(
    () => new URLSearchParams(location.hash.split("?")[1]).get("q") === "state:ready queue:many",
  );
  await page.getByLabel("Choose all that are shown").check();
  await page.getByRole("button", { name: "Choose all that match" }).click();
  await page.getByRole("region", { name: "Chosen jobs" }).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { name: "Cancel 60 jobs" }).waitFor();
  await page.getByRole("button", { name: "Cancel the jobs" }).click();
  await page.getByText("60 jobs are cancelled").waitFor();
  assert.equal((await server.call("GET", "/v1/queues/many")).counts.cancelled, 60);
  await page.getByLabel("Filter jobs").fill("colour:red");
  await page.getByRole("alert").filter({ hasText: "colour" }).waitFor();
  await page.context().close();
});

test("an operation is followed, slowed, paused, and cancelled", async ({ browser, server }) => {
  const jobs = Array.from({ length: 300 }, () => ({ type: "slowly", queue: "slowly", delay_ms: 3_600_000 }));
  await server.call("POST", "/v1/jobs/batch", { jobs });
  await listed(server, "queue:slowly");
  const page = await newPage(browser);
  await visit(page, server, "#/jobs?q=queue:slowly");
  await page.getByLabel("Choose all that are shown").check();
  await page.getByRole("button", { name: "Choose all that match" }).click();
  await page.getByRole("region", { name: "Chosen jobs" }).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { name: "Cancel 300 jobs" }).waitFor();
  // It takes minutes, so that it is not over before it is paused.
  await page.getByLabel("At most so many a second").fill("2");
  await page.getByRole("button", { name: "Cancel the jobs" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#/operations/"));
  await page.getByText("at most 2 a second").waitFor();
  await page.getByRole("button", { name: "Rate" }).click();
  await page.getByLabel("At most so many a second").fill("1");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("at most 1 a second").waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.locator(".badge", { hasText: "paused" }).waitFor();
  const paused = async () => (await server.call("GET", "/v1/operations?state=paused")).items;
  const items = await until("one is paused", async () => (await paused()).length > 0 && paused());
  assert.ok(items.length === 1 && items[0].done < 300 && items[0].rate_per_s === 1, JSON.stringify(items));
  await visit(page, server, "#/operations");
  await page.getByRole("row").filter({ hasText: "paused" }).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the operation" }).click();
  await page.getByRole("row").filter({ hasText: "cancelled" }).first().waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("an error is noted, muted, opened, resolved, and opens again when it comes back", async ({ browser, server }) => {
  const fail = async () => {
    await server.call("POST", "/v1/jobs", { type: "flaky", queue: "flaky", max_attempts: 1 });
    const [job] = await claim(server, "flaky", { id: "w3", version: "1.2.3" });
    await server.call("POST", "/v1/ack", {
      items: [
        {
          id: job.id,
          token: job.lease.token,
          outcome: "failed",
          error: { type: "Flaky", message: "port 4711 is taken" },
        },
      ],
    });
  };
  await fail();
  const page = await newPage(browser);
  await visit(page, server, "#/errors?type=flaky");
  await page.getByRole("link", { name: "Flaky" }).click();
  await page.getByRole("row").filter({ hasText: "1.2.3" }).waitFor();
  // The group's message has no numbers, but those of its jobs do.
  await page.getByRole("table", { name: "Newest jobs" }).getByText("port 4711 is taken").waitFor();
  const menu = async (item) => {
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await menu("Add a note…");
  await page.getByLabel("For whoever comes next").fill("see OPS-12");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("see OPS-12").waitFor();
  await menu("Mute…");
  await page.getByRole("dialog").getByRole("button", { name: "Mute" }).click();
  await page.getByText("It is muted").waitFor();
  await page.getByRole("button", { name: "Open again" }).click();
  await page.getByRole("button", { name: "Resolve" }).click();
  await page.getByRole("button", { name: "Open again" }).waitFor();
  await fail();
  await page.getByRole("button", { name: "Resolve" }).waitFor();
  await page.getByText("came back").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("what a person changes stands in the audit", async ({ browser, server }) => {
  const page = await newPage(browser);
  await visit(page, server, "#/queues/audited");
  await server.call("PUT", "/v1/queues/audited", { max_attempts: 3 });
  await visit(page, server, "#/queues/audited");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByLabel("Reason").fill("for the auditors");
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText("“for the auditors”", { exact: true }).waitFor();
  await visit(page, server, "#/audit?object=audited");
  const entry = page.locator(".attention li").filter({ hasText: "for the auditors" });
  await entry.getByText("queue.paused").waitFor();
  await entry.getByText("127.0.0.1").waitFor();
  await page.locator(".attention > li").nth(1).waitFor();
  assert.equal(await page.locator(".attention > li").count(), 2);
  await page.context().close();
});

test("settings of a queue are edited in place, and a conflict is told", async ({ browser, server }) => {
  const page = await newPage(browser);
  await visit(page, server, "#/queues/mail");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("spinbutton", { name: "Concurrency" }).fill("9");
  await server.call("PATCH", "/v1/queues/mail", { max_attempts: 7 });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Somebody has changed the queue meanwhile").waitFor();
  await page.getByRole("button", { name: "Save over it" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  assert.equal((await server.call("GET", "/v1/queues/mail")).settings.concurrency, 9);
  await page.context().close();
});

test("a schedule is previewed while one types, and made", async ({ browser, server }) => {
  const page = await newPage(browser);
  await visit(page, server, "#/schedules");
  await page.getByRole("button", { name: "New schedule" }).click();
  await page.getByLabel("Name").fill("weekly");
  await page.getByLabel("Expression").fill("0 7 * * MON");
  await page
    .getByText(/07:00.*Monday|Monday.*07:00/)
    .first()
    .waitFor();
  await page.getByLabel("Expression").fill("99 7 * * MON");
  await page.locator(".fault").first().waitFor();
  await page.getByLabel("Expression").fill("0 7 * * TUE");
  await page
    .getByText(/Tuesday/)
    .first()
    .waitFor();
  await page.getByLabel("Type of the job").fill("report");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForFunction(() => location.hash === "#/schedules/weekly");
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("button", { name: "Show the job" }).waitFor();
  await page.context().close();
});

test("it lives: a job that moves is seen to move, in every tab, by one stream", async ({ browser, server }) => {
  const page = await newPage(browser);
  const second = await page.context().newPage();
  let streams = 0;
  for (const each of [page, second])
    each.on("request", (request) => (streams += request.url().includes("digest_ms") ? 1 : 0));
  const { id } = await server.call("POST", "/v1/jobs", { type: "move", queue: "moves" });
  await visit(page, server, `#/jobs/${id}`);
  await visit(second, server, "#/jobs?q=queue:moves");
  await page.locator(".state.ready").first().waitFor();
  const [job] = await claim(server, "moves", { id: "w" });
  await page.bringToFront();
  await page.locator(".state.running").first().waitFor({ timeout: kPatience });
  await server.call("POST", `/v1/jobs/${id}/complete`, { token: job.lease.token });
  await page.locator(".state.succeeded").first().waitFor({ timeout: kPatience });
  await second.bringToFront();
  await second.locator("tbody .state.succeeded").first().waitFor({ timeout: kPatience });
  assert.ok(streams <= 2, `${streams} streams`);
  // A paused page does not change.
  await page.bringToFront();
  await page.getByRole("button", { name: "Live" }).click();
  await server.call("POST", `/v1/jobs/${id}/retry`, {});
  await page.waitForTimeout(2500);
  assert.equal(await page.locator(".state.ready").count(), 0);
  await page.getByRole("button", { name: "Paused" }).click();
  await page.locator(".state.ready").first().waitFor({ timeout: kPatience });
  await page.context().close();
});

test("a server that dies is told, and its return is noticed", async ({ browser, server }) => {
  const page = await newPage(browser);
  await visit(page, server, "#/queues");
  await page.getByRole("button", { name: "Live" }).waitFor();
  await server.stop("SIGKILL");
  await page.getByText("The server does not answer.").waitFor({ timeout: kPatience });
  assert.ok((await page.locator("tbody tr").count()) > 3, "what was there stays");
  await server.start();
  await page.getByRole("button", { name: "Live" }).waitFor({ timeout: kPatience });
  await server.call("POST", "/v1/jobs", { type: "t", queue: "after" });
  await page.getByRole("link", { name: "after" }).waitFor({ timeout: kPatience });
  await page.context().close();
});

test("the keys: pages, palette, filter, rows, help", async ({ browser, server }) => {
  const page = await newPage(browser);
  await visit(page, server, "#/");
  // The second key must follow within one and a half seconds.
  for (let began = 0; Date.now() - began >= 1500;) {
    began = Date.now();
    await page.keyboard.press("g");
    await page.keyboard.press("q");
  }
  await page.getByRole("heading", { name: "Queues", exact: true }).first().waitFor();
  await settle(page);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/queues/"));
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find or do" }).fill("schedu");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash === "#/schedules");
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Keys" }).waitFor({ state: "detached" });
  await settle(page);
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Find a schedule");
  await page.context().close();
});

test("an empty server is a quickstart that sees its first job move", async ({ browser }) => {
  const server = new Server(binary);
  await server.start();
  try {
    const page = await newPage(browser);
    await visit(page, server, "");
    assert.ok((await page.locator("main").innerText()).includes(`MILLRACE_URL=${server.url}`));
    await server.call("POST", "/v1/jobs", { type: "hello" });
    await page.waitForFunction(() => !document.body.innerText.includes("This server has no queues yet"), null, {
      timeout: kPatience,
    });
    assert.deepEqual(page.faults, []);
    await page.context().close();
  } finally {
    await server.close();
  }
});

test("a job that waits again says how long its last attempt took", async ({ browser, server }) => {
  const { id } = await server.call("POST", "/v1/jobs", {
    type: "again",
    queue: "again",
    max_attempts: 3,
    retry: { strategy: "fixed", base_ms: 3_600_000 },
  });
  const [job] = await claim(server, "again", { id: "w4" });
  await server.call("POST", "/v1/ack", {
    items: [{ id, token: job.lease.token, outcome: "failed", error: { type: "Busy", message: "later" } }],
  });
  const { items } = await server.call("GET", `/v1/jobs/${id}/attempts`);
  const took = Date.parse(items[0].finished_at) - Date.parse(items[0].started_at);
  await sleep(1500);
  const page = await newPage(browser);
  await visit(page, server, `#/jobs/${id}`);
  const words =
    took < 1000 ? `${took} ms` : took < 10_000 ? `${(took / 1000).toFixed(1)} s` : `${Math.floor(took / 1000)} s`;
  await page.getByText(`last ran ${words}`, { exact: true }).waitFor();
  await page.getByText("1 of 3 attempts").waitFor();
  // Times use 24 hours, as in logs.
  assert.doesNotMatch(await page.locator("main").innerText(), /\d [AP]M\b/);
  await page.context().close();
});

test("long lists come in the order of the numbers in their names, a part at a time", async ({ browser, server }) => {
  await server.call("POST", "/v1/jobs/batch", {
    jobs: Array.from({ length: 130 }, (_, i) => ({
      type: "t",
      queue: `shop-${i + 1}`,
      limits: [{ name: "keyed", key: `key-${i}` }],
    })),
  });
  const page = await newPage(browser);
  await visit(page, server, "#/queues?find=shop-");
  const names = () => page.locator("tbody th").allInnerTexts();
  await page.getByText("100 of 130").waitFor();
  assert.deepEqual(
    (await names()).map((name) => name.trim()),
    Array.from({ length: 100 }, (_, i) => `shop-${i + 1}`),
  );
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByRole("link", { name: "shop-130" }).waitFor();
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("tbody th").innerText.trim() === "shop-130");
  await visit(page, server, "#/limits/keyed");
  const keys = page.getByRole("table", { name: "Keys" }).locator("tbody tr");
  await keys.nth(19).waitFor();
  assert.equal(await keys.count(), 20);
  await page.getByRole("button", { name: "Show more" }).click();
  await keys.nth(129).waitFor();
  assert.equal(await keys.count(), 130);
  await page.context().close();
});

test("a row that new jobs have moved off the first page is not told as gone", async ({ browser, server }) => {
  // Jobs of several queues in one millisecond, whose ids have no order.
  const submit = (n) =>
    server.call("POST", "/v1/jobs/batch", {
      jobs: Array.from({ length: n }, (_, i) => ({ type: "crowd", queue: `crowd-${i % 6}` })),
    });
  await submit(60);
  await listed(server, "type:crowd");
  const page = await newPage(browser);
  await visit(page, server, "#/jobs?q=type:crowd");
  await page.locator("tbody tr").nth(49).waitFor();
  await submit(20);
  await page.getByRole("button", { name: "Show 20 new jobs" }).waitFor({ timeout: kPatience });
  assert.equal(await page.locator("tbody tr").count(), 50);
  assert.equal(await page.locator("tr.gone").count(), 0);
  await page.context().close();
});

test("what holds a queue back by keys is not told as one bound", async ({ browser, server }) => {
  const jobs = ["a", "a", "b", "b"].map((key) => ({
    type: "t",
    queue: "by-key",
    limits: [{ name: "keyed", key: `held-${key}` }],
  }));
  await server.call("POST", "/v1/jobs/batch", { jobs });
  await claim(server, "by-key", { id: "w5", version: "5.0" }, 2);
  const page = await newPage(browser);
  await visit(page, server, "#/queues/by-key");
  await page.getByText("has no room left for some keys").waitFor();
  await page.getByText("Why its oldest waits").waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /0 of 0/);
  await page.context().close();
});

test("on a phone the time that the charts show is chosen from a list, and a row tells what its columns do not", async ({
  browser,
  server,
  ids,
}) => {
  const page = await newPage(browser, { width: widths.phone });
  await visit(page, server, "#/queues/mail");
  await page.getByRole("combobox", { name: "How far back" }).selectOption("1 h");
  await page.waitForFunction(() => location.hash.includes("window=1h"));
  assert.equal(await page.getByRole("group", { name: "How far back" }).count(), 0);
  await visit(page, server, "#/jobs?q=state:dead queue:evil");
  await page.getByText("dead · evil").first().waitFor();
  // The chosen tab is visible, and a dialog's text and buttons stay within it.
  const within = async (inner, outer) => {
    let boxes;
    const holds = async () => {
      const [a, b] = (boxes = [await inner.boundingBox(), await outer.boundingBox()]);
      return a && b && a.x >= b.x && a.x + a.width <= b.x + b.width;
    };
    await until("the one lies within the other", holds).catch((error) =>
      assert.fail(`${error.message}: ${JSON.stringify(boxes)}`),
    );
  };
  await within(page.getByRole("tab", { selected: true }), page.getByRole("tablist"));
  await page.setViewportSize({ width: widths.desk, height: 900 });
  await visit(page, server, `#/jobs/${ids.evil}`);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "As curl" }).click();
  await within(page.getByRole("dialog").getByRole("button", { name: "Copy" }).last(), page.getByRole("dialog"));
  await page.context().close();
});

test("sign-in, a session that only its page can use, and a token that only reads", async ({ browser }) => {
  const all = await newToken(binary, "all", ["submit", "work", "read", "operate", "admin"]);
  const reader = await newToken(binary, "reader", ["read"]);
  const server = new Server(binary, all.block + reader.block);
  await server.start();
  try {
    await server.call("POST", "/v1/jobs", { type: "t", queue: "mail" }, all.secret);
    const page = await newPage(browser);
    await page.goto(server.url);
    await page.getByLabel("Token").fill("mlr_nonsense");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("the server knows no such token").waitFor();
    await page.getByLabel("Token").fill(all.secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.goto(`${server.url}/#/queues/mail`);
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByText("This queue is paused").waitFor();
    // Requests without the guard or from another site change nothing.
    const bare = await page.evaluate(() =>
      fetch("v1/queues/mail/resume", { method: "POST" }).then((answer) => answer.status),
    );
    assert.equal(bare, 403);
    const elsewhere = await fetch(`${server.url}/v1/queues/mail/resume`, {
      method: "POST",
      headers: { Cookie: `${cookie.name}=${cookie.value}`, Origin: "https://evil.example" },
    });
    assert.equal(elsewhere.status, 403);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").fill(reader.secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This queue is paused").waitFor();
    for (const name of ["Resume", "Edit", "Enqueue a job"])
      assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
    const guard = await page.evaluate(() =>
      fetch("v1/session")
        .then((answer) => answer.json())
        .then((session) => session.guard),
    );
    const refused = await page.evaluate(
      (value) =>
        fetch("v1/queues/mail/resume", { method: "POST", headers: { "X-Millrace-Guard": value } }).then(
          (answer) => answer.status,
        ),
      guard,
    );
    assert.equal(refused, 403);
    await page.context().close();
  } finally {
    await server.close();
  }
});

test("it works under a path that a proxy adds", async ({ browser, server }) => {
  const { createServer: createProxy, request } = await import("node:http");
  const proxy = createProxy((incoming, outgoing) => {
    if (!incoming.url.startsWith("/jobs/ui/")) return outgoing.writeHead(404).end();
    const passed = request(
      server.url + incoming.url.slice("/jobs/ui".length),
      { method: incoming.method, headers: { ...incoming.headers, host: `localhost:${server.port}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
      },
    );
    outgoing.on("close", () => passed.destroy());
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    const page = await newPage(browser);
    await page.goto(`http://127.0.0.1:${proxy.address().port}/jobs/ui/#/queues`);
    await page.getByRole("link", { name: "mail", exact: true }).click();
    await page.getByRole("heading", { name: "mail" }).waitFor();
    await page.getByRole("button", { name: "Live" }).waitFor();
    assert.deepEqual(page.faults, []);
    await page.context().close();
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

// These tests start, stop or address their own server.
await run(fill, [
  "a server that dies is told, and its return is noticed",
  "an empty server is a quickstart that sees its first job move",
  "sign-in, a session that only its page can use, and a token that only reads",
  "it works under a path that a proxy adds",
]);
