// Tests of the pages of workflows in a real browser, against a server that is filled here.
//
//   node test/workflows.mjs MILLRACE|http://HOST:PORT [NAME]     see harness.mjs
import assert from "node:assert/strict";
import { newPage, widths } from "./browser.mjs";
import { binary, claim, drawsEverywhere, run, settle, test, visit } from "./harness.mjs";
import { hostile } from "./hostile.mjs";
import { Server, kPatience, newToken, until } from "./server.mjs";

const member = (ref, needs = [], more = {}) => ({
  ref,
  ...(needs.length > 0 ? { needs } : {}),
  job: { type: "step", max_attempts: 1, ...more },
});
// Each workflow has a queue of its own, so that one test does not claim the jobs of another.
const make = (server, name, members, more = {}) =>
  server.call("POST", "/v1/workflows", { name, queue: name, members, ...more });
const get = (server, { id }) => server.call("GET", `/v1/workflows/${id}`);
const place = ({ id }, query = "") => `#/workflows/${id}${query}`;

// Claims jobs of a workflow, and ends each as `fails`, a list of refs, says.
async function work(server, { queue }, count, fails = []) {
  const jobs = await claim(server, queue, { id: "w" }, count);
  await server.call("POST", "/v1/ack", {
    items: jobs.map(({ id, lease, workflow }) => ({
      id,
      token: lease.token,
      ...(fails.includes(workflow.ref)
        ? { outcome: "failed", error: { type: "Broken", message: `${workflow.ref}: ${hostile[1]}` } }
        : { outcome: "succeeded", result: { ref: workflow.ref } }),
    })),
  });
}

const nightly = (server, name) =>
  make(
    server,
    name,
    [
      member("load"),
      member("clean", ["load"]),
      member("count", ["load"]),
      member("join", ["clean", "count"]),
      member("mend", [{ ref: "join", on: "failed" }]),
      member("tidy", [{ ref: "join", on: "ended" }]),
    ],
    { on_end: { type: "note" }, tags: ["nightly"], meta: { why: hostile[1].slice(0, 500) }, result_from: "tidy" },
  );
const kImages = 496;
const images = (server, name) =>
  make(server, name, [
    member("list"),
    ...Array.from({ length: kImages }, (_, i) => member(`image-${i}`, ["list"])),
    member("catalogue", [{ ref: "image-0" }, ...Array.from({ length: kImages - 1 }, (_, i) => `image-${i + 1}`)]),
    member("mail", ["catalogue"]),
    member("complain", [{ ref: "catalogue", on: "failed" }]),
  ]);
const rows = (server, name, count = 5000) =>
  make(server, name, [
    ...Array.from({ length: count - 1 }, (_, i) => member(`row-${i}`)),
    member("last", ["row-0", "row-1", "row-2", "row-3", "row-4"]),
  ]);

async function fill(server) {
  const ids = {
    nightly: await nightly(server, "nightly"),
    images: await images(server, "images"),
    rows: await rows(server, "rows"),
    open: await make(server, "open", [], { open: true }),
    failed: await nightly(server, "failed"),
    cancelled: await make(server, "cancelled", [member("a"), member("b", ["a"])]),
  };
  await work(server, ids.failed, 1);
  await work(server, ids.failed, 2, ["clean"]);
  await work(server, ids.failed, 1);
  await until("it has failed", async () => (await get(server, ids.failed)).state === "failed");
  await server.call("POST", `/v1/workflows/${ids.cancelled.id}/cancel`, { reason: hostile[1] });
  // A long name without a place to break.
  await make(server, `long-${"x".repeat(110)}`, [member("y".repeat(128)), member("z".repeat(128), ["y".repeat(128)])]);
  await server.call("GET", "/v1/workflows?limit=1&fresh=true");
  return ids;
}

const jobOf = async (server, { id }, ref) => (await server.call("GET", `/v1/workflows/${id}/members/${ref}`)).job_id;
const node = (page, name) => page.locator(`.graph [aria-label^="${name}, "]`);
const nodeIn = (page, name, state) => page.locator(`.graph [aria-label^="${name}, ${state}"]`);
const badge = (page, state) => page.locator(`.content > .row .state.${state}`);
const panel = (page, name) => page.getByRole("region", { name: `Member ${name}`, exact: true });
const dialog = (page, button) => page.getByRole("dialog").getByRole("button", { name: button, exact: true });

test("every page draws, without a word in the console, and axe accepts it", async ({ browser, server, ids }) => {
  const long = (await server.call("GET", "/v1/workflows?limit=1")).items[0];
  await drawsEverywhere(browser, server, {
    list: "#/workflows",
    "list of none": "#/workflows?tag=nowhere",
    graph: place(ids.nightly),
    member: place(ids.nightly, "?member=join"),
    table: place(ids.nightly, "?view=table"),
    "failed one": place(ids.failed, "?member=clean"),
    "cancelled one": place(ids.cancelled),
    "open one": place(ids.open),
    "500 members": place(ids.images, "?member=image-7"),
    "5,000 members": place(ids.rows),
    "member of 5,000": place(ids.rows, "?state=blocked&member=last"),
    "long names": place(long, `?member=${"z".repeat(128)}`),
    "long names in a table": place(long, "?view=table"),
    "job of a member": `#/jobs/${await jobOf(server, ids.failed, "clean")}`,
    "job of a callback": `#/jobs/${Object.values((await get(server, ids.failed)).callbacks)[0]}`,
  });
});

test("workflows are found by state, queue, name and tag, a page at a time, and opened by keys", async ({
  browser,
  server,
}) => {
  for (let i = 0; i < 60; ++i) await make(server, "found", [], { name: `found-${i % 2}`, tags: ["found"] });
  await server.call("GET", "/v1/workflows?limit=1&fresh=true");
  const page = await newPage(browser);
  await visit(page, server, "#/workflows");
  await page.getByLabel("Tag").fill("found");
  await page.keyboard.press("Enter");
  const rows = page.locator("tbody tr");
  await rows.nth(49).waitFor();
  await page.getByText("50 workflows shown").waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("60 workflows shown").waitFor();
  assert.equal(await rows.count(), 60);
  await page.getByLabel("Name").fill("found-1");
  await page.getByLabel("Queue").fill("found");
  await page.getByRole("button", { name: "Find", exact: true }).click();
  await until("half of them are shown", async () => (await rows.count()) === 30);
  assert.match(await page.evaluate(() => location.hash), /name=found-1/);
  await page.getByRole("tab", { name: "Running" }).click();
  await page.getByText("No workflow matches").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.getByRole("tab", { name: "Failed" }).click();
  await page.getByRole("link", { name: "failed", exact: true }).first().waitFor();
  await page.getByRole("img", { name: /^6 of 6 members done: .*1 failed/ }).waitFor();
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "failed", exact: true }).waitFor();
  // A name that is none is told at its field.
  await visit(page, server, "#/workflows?name=a%20b");
  await page.locator(".fault").waitFor();
  await page.context().close();
});

test("the list lives: rows change in place, and new ones wait above", async ({ browser, server }) => {
  const first = await make(server, "lives", [member("a"), member("b")]);
  await server.call("GET", "/v1/workflows?limit=1&fresh=true");
  const page = await newPage(browser);
  await visit(page, server, "#/workflows?queue=lives");
  await page.getByRole("img", { name: "0 of 2 members done: 2 active" }).waitFor();
  await work(server, first, 1);
  await page.getByRole("img", { name: "1 of 2 members done: 1 succeeded, 1 active" }).waitFor();
  await work(server, first, 1);
  await page.locator("tbody .state.succeeded").waitFor();
  await make(server, "lives", [member("a")]);
  await page.getByRole("button", { name: "Show 1 new workflow" }).click();
  await page.locator("tbody tr").nth(1).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the graph shows the path through a node, by the pointer and by keys", async ({ browser, server, ids }) => {
  const page = await newPage(browser);
  await visit(page, server, place(ids.nightly));
  const dim = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(".graph .dim")].map((each) => each.getAttribute("aria-label").split(",")[0]).sort(),
    );
  assert.deepEqual(await dim(), []);
  await node(page, "clean").hover();
  await until("the path through clean is shown", async () => String(await dim()) === "count");
  await page.mouse.move(5, 5);
  await until("all are shown alike", async () => (await dim()).length === 0);
  // The graph is one stop of the Tab key; the arrows move within it.
  await page.getByRole("region", { name: "Graph of the members" }).focus();
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(await focused(), /^load, active/);
  await page.keyboard.press("ArrowRight");
  const [up, down] = [await focused(), (await page.keyboard.press("ArrowDown"), await focused())];
  assert.notEqual(up, down);
  for (const label of [up, down]) assert.match(label, /^(clean|count), blocked, needs load/);
  await page.keyboard.press("ArrowRight");
  assert.match(await focused(), /^join, blocked, needs clean, count/);
  await page.keyboard.press("Enter");
  await panel(page, "join").waitFor();
  assert.match(await page.evaluate(() => location.hash), /member=join/);
  for (const name of ["clean", "count", "mend", "tidy"])
    await panel(page, "join").getByRole("link", { name, exact: true }).waitFor();
  await panel(page, "join").getByText("clean, count").waitFor();
  await panel(page, "join").getByRole("link", { name: "clean", exact: true }).click();
  await panel(page, "clean").waitFor();
  await page.getByRole("button", { name: "Close the member" }).click();
  await panel(page, "clean").waitFor({ state: "detached" });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a graph of 500 members is folded, unfolds in place, and fits", async ({ browser, server, ids }) => {
  const page = await newPage(browser);
  await visit(page, server, place(ids.images));
  const nodes = page.locator(".graph [data-node]");
  assert.equal(await nodes.count(), 5);
  const fold = page.getByRole("button", { name: `${kImages} members image-*: ${kImages} blocked. Show each` });
  await fold.focus();
  await page.keyboard.press("Enter");
  await until("each is drawn", async () => (await nodes.count()) === kImages + 4);
  const boxes = await page.evaluate(() =>
    [...document.querySelectorAll(".graph .node > .box")].map((each) => {
      const { x, y, width, height } = each.getBoundingClientRect();
      return { x, y, right: x + width, bottom: y + height };
    }),
  );
  boxes.sort((a, b) => a.x - b.x || a.y - b.y);
  for (let i = 1; i < boxes.length; ++i)
    assert.ok(boxes[i].x >= boxes[i - 1].right || boxes[i].y >= boxes[i - 1].bottom, `${i} overlaps`);
  const width = () => page.locator(".graph > svg").evaluate((each) => each.getBoundingClientRect().width);
  const before = await width();
  await page.getByRole("button", { name: "Larger" }).click();
  await until("it is larger", async () => (await width()) > before);
  await page.setViewportSize({ width: widths.phone, height: 780 });
  await page.getByRole("button", { name: "Fit" }).click();
  await until("it fits", () => page.locator(".graph").evaluate((each) => each.scrollWidth <= each.clientWidth));
  await page.getByRole("button", { name: "Fold", exact: true }).click();
  await until("it is folded again", async () => (await nodes.count()) === 5);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("5,000 members are a table by state, page by page", async ({ browser, server }) => {
  const many = await rows(server, "many");
  await work(server, many, 1, ["row-0"]);
  const page = await newPage(browser);
  await visit(page, server, place(many));
  assert.equal(await page.locator(".graph").count(), 0);
  await page.getByText("a graph is drawn of up to 500").waitFor();
  const table = page.getByRole("table", { name: "Members" });
  await table.getByRole("link", { name: "row-49", exact: true }).waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await table.getByRole("link", { name: "row-99", exact: true }).waitFor();
  await page.getByRole("button", { name: "Back" }).click();
  await table.getByRole("link", { name: "row-49", exact: true }).waitFor();
  await page.getByRole("tab", { name: /^Failed/ }).click();
  await table.getByRole("link", { name: "row-0", exact: true }).waitFor();
  await until("only one is failed", async () => (await table.locator("tbody tr").count()) === 1);
  await page.getByRole("tab", { name: /^Skipped/ }).click();
  await table.getByText("row-0, row-1, row-2 and 2 more").waitFor();
  assert.match(await page.evaluate(() => location.hash), /state=skipped/);
  await table.getByRole("link", { name: "last" }).click();
  await panel(page, "last").getByRole("link", { name: "row-0", exact: true }).waitFor();
  // What failed is told first, with its error as it was sent.
  await page.getByText(`: row-0: ${hostile[1]}`.slice(0, 60)).first().waitFor();
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a workflow's page lives: states, why, what failed, callbacks, result", async ({ browser, server }) => {
  const it = await nightly(server, "moves");
  const page = await newPage(browser);
  await visit(page, server, place(it));
  await nodeIn(page, "load", "active").waitFor();
  await page.getByText("1 member is active").waitFor();
  await work(server, it, 1);
  await nodeIn(page, "load", "succeeded").waitFor();
  await nodeIn(page, "clean", "active").waitFor();
  await page.getByText("2 members are active").waitFor();
  await work(server, it, 2);
  await work(server, it, 1, ["join"]);
  await nodeIn(page, "join", "failed").waitFor();
  await nodeIn(page, "mend", "active").waitFor();
  await page.getByRole("heading", { name: "What failed" }).waitFor();
  await work(server, it, 2);
  await badge(page, "succeeded").waitFor();
  await page.getByRole("heading", { name: "Why it has not ended" }).waitFor({ state: "detached" });
  await page.locator(".json").getByText('"tidy"').waitFor();
  await page.getByRole("link", { name: "note" }).click();
  await page.getByText("This job is a callback").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("it grows while one looks, and is closed", async ({ browser, server }) => {
  const it = await make(server, "grows", [member("a")], { open: true });
  const page = await newPage(browser);
  await visit(page, server, place(it));
  await node(page, "a").waitFor();
  await server.call("POST", `/v1/workflows/${it.id}/members`, { members: [member("b", ["a"])] });
  await nodeIn(page, "b", "blocked").waitFor();
  await page.getByText("It is open: it can end only after it is closed.").waitFor();
  await work(server, it, 1);
  await work(server, it, 1);
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await dialog(page, "Close the workflow").click();
  await badge(page, "succeeded").waitFor();
  assert.equal((await get(server, it)).open, false);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("one is cancelled for a reason, retried, and deleted", async ({ browser, server }) => {
  const it = await make(server, "ends", [member("a"), member("b", ["a"])]);
  const page = await newPage(browser);
  await visit(page, server, place(it));
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByLabel("Reason").fill("the customer withdrew");
  await dialog(page, "Cancel the workflow").click();
  await badge(page, "cancelled").waitFor();
  await page.getByText("“the customer withdrew”").waitFor();
  assert.equal((await get(server, it)).cancel_reason, "the customer withdrew");
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await dialog(page, "Retry").click();
  await page.getByText("generation 2").waitFor();
  await badge(page, "running").waitFor();
  await work(server, it, 1);
  await work(server, it, 1);
  await badge(page, "succeeded").waitFor();
  // Another page that looks at it learns that it is gone.
  const other = await newPage(browser);
  await visit(other, server, place(it));
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await dialog(page, "Delete the workflow").click();
  await page.waitForFunction(() => location.hash === "#/workflows");
  await other.getByText("There is no such workflow").waitFor();
  assert.equal(await other.getByRole("button", { name: "Retry" }).count(), 0);
  await other.context().close();
  await page.context().close();
});

test("failed members are retried: all, chosen ones, one alone, and by their jobs", async ({ browser, server }) => {
  const it = await make(server, "again", [member("a"), member("b"), member("c"), member("after", ["a", "b", "c"])]);
  const fails = ["a", "b", "c"];
  await work(server, it, 3, fails);
  const page = await newPage(browser);
  await visit(page, server, place(it));
  await badge(page, "failed").waitFor();
  const active = async (...refs) => {
    for (const ref of fails)
      await nodeIn(page, ref, refs.includes(ref) ? "active" : "failed").waitFor({ timeout: kPatience });
  };
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await dialog(page, "Retry").click();
  await active("a", "b", "c");
  await work(server, it, 3, fails);
  await active();
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByLabel("Chosen ones").check();
  await page.getByLabel("b", { exact: false }).last().waitFor();
  await page.locator(".choose-list label").filter({ hasText: /^b/ }).getByRole("checkbox").check();
  await dialog(page, "Retry").click();
  await active("b");
  await work(server, it, 1, fails);
  await active();
  await node(page, "c").click();
  await panel(page, "c").getByRole("button", { name: "Retry it" }).click();
  await active("c");
  await work(server, it, 1);
  // A job's own page retries the member, too.
  await until("it has ended", async () => (await get(server, it)).state === "failed");
  await visit(page, server, `#/jobs/${await jobOf(server, it, "a")}`);
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByText("1 member will run again").waitFor();
  await until("it runs again", async () => (await get(server, it)).counts.active === 1);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a member that waits is skipped", async ({ browser, server }) => {
  const it = await make(server, "skips", [
    member("a"),
    member("b", ["a"]),
    member("c", [{ ref: "b", on: "ended" }]),
    member("d", ["b"]),
  ]);
  const page = await newPage(browser);
  await visit(page, server, place(it, "?member=b"));
  await panel(page, "b").getByRole("button", { name: "Skip it" }).click();
  await dialog(page, "Skip the member").click();
  await nodeIn(page, "b", "skipped").waitFor();
  await nodeIn(page, "c", "active").waitFor();
  await nodeIn(page, "d", "skipped").waitFor();
  await panel(page, "b").getByText("by call").waitFor();
  assert.equal(await panel(page, "b").getByRole("button", { name: "Skip it" }).count(), 0);
  // What can't be done any more is told in the dialog.
  await visit(page, server, place(it, "?member=a"));
  assert.equal(await panel(page, "a").getByRole("button").count(), 1);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a job shows its place in its workflow, and jobs are found by it", async ({ browser, server, ids }) => {
  const page = await newPage(browser);
  const id = await jobOf(server, ids.failed, "clean");
  await visit(page, server, `#/jobs/${id}`);
  const main = page.locator("main");
  await main.locator(`a[href="${place(ids.failed)}"]`).waitFor();
  for (const name of ["clean", "load", "join"]) await main.getByRole("link", { name, exact: true }).waitFor();
  await main.getByRole("link", { name: "The job of load" }).click();
  const load = await jobOf(server, ids.failed, "load");
  await page.waitForFunction((job) => location.hash === `#/jobs/${job}`, load);
  for (const name of ["clean", "count"]) await main.getByRole("link", { name, exact: true }).waitFor();
  // The palette knows an id as a workflow's, and a filter is completed.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find or do" }).fill(ids.failed.id);
  await page.getByRole("option", { name: "workflow" }).click();
  await page.getByRole("heading", { name: "failed", exact: true }).waitFor();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Its jobs" }).click();
  await until("they are listed", async () => (await page.locator("table.jobs tbody tr").count()) === 5);
  await page.getByLabel("Filter jobs").fill("workf");
  await page.getByRole("option", { name: "workflow:" }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a token that only reads has no buttons, and one that ends leads to the sign-in", async ({ browser }) => {
  const all = await newToken(binary, "all", ["submit", "work", "read", "operate", "admin"]);
  const server = new Server(binary, all.block);
  await server.start();
  const call = server.call.bind(server);
  server.call = (method, path, body, token = all.secret) => call(method, path, body, token);
  try {
    const it = await make(server, "flows", [member("a"), member("b", ["a"]), member("c")], { open: true });
    await work(server, it, 2, ["a"]);
    const reader = await server.call("POST", "/v1/tokens", { name: "reader", scopes: ["read"] });
    const page = await newPage(browser);
    await page.goto(`${server.url}/${place(it, "?member=a")}`);
    await page.getByLabel("Token").fill(reader.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await panel(page, "a").getByText("its text needs the scope “payload”").waitFor();
    await settle(page);
    for (const name of ["Retry", "Cancel", "Close", "Retry it", "Skip it"])
      assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
    await page.getByRole("button", { name: "More" }).click();
    assert.deepEqual(await page.getByRole("menuitem").allInnerTexts(), ["Its jobs"]);
    await server.call("DELETE", `/v1/tokens/${reader.id}`);
    await page.getByRole("button", { name: "Sign in" }).waitFor({ timeout: kPatience });
    // Somebody who may operate comes back to the same page, and has the buttons.
    await page.getByLabel("Token").fill(all.secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    await panel(page, "a").getByRole("button", { name: "Retry it" }).waitFor();
    await page.context().close();
    // A token that opens one queue sees the members of others, without their jobs.
    const mixed = await make(server, "mine", [member("own"), member("other", [], { queue: "theirs" })]);
    const narrow = await server.call("POST", "/v1/tokens", { name: "narrow", scopes: ["read"], queues: ["mine"] });
    const second = await newPage(browser);
    await second.goto(`${server.url}/${place(mixed, "?view=table&member=other")}`);
    await second.getByLabel("Token").fill(narrow.token);
    await second.getByRole("button", { name: "Sign in" }).click();
    await panel(second, "other").getByText("not for this token").waitFor();
    await second.getByText("2 members are active").waitFor();
    await second.context().close();
  } finally {
    await server.close();
  }
});

await run(fill, ["a token that only reads has no buttons, and one that ends leads to the sign-in"]);
