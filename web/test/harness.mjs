// What the tests of the dashboard share: a list of tests, which run against a server that is filled first.
//
//   node test/FILE MILLRACE [NAME]     the program; starts and ends its servers itself
//   node test/FILE http://HOST:PORT    a running empty server; skips the tests that stop one
//
// Prints a line for each test. Exits with 1 if one failed, with 77 if there is no browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { executable, launch, newPage, themes, widths } from "./browser.mjs";
import { OthersServer, Server, kPatience } from "./server.mjs";

export const [, , binary, only] = process.argv;
if (!executable) {
  console.log("skipped: there is no Chromium here");
  process.exit(77);
}
const isOthers = binary.startsWith("http://");
const axe = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "../node_modules/axe-core/axe.min.js"), "utf8");

const tests = [];
export const test = (name, run) => tests.push({ name, run });

// Runs the tests, but those of `ofOwnServer` only with the program: they start, stop or address their own server.
export async function run(fill, ofOwnServer) {
  const browser = await launch();
  const server = isOthers ? new OthersServer(binary) : new Server(binary);
  await server.start();
  let failed = 0;
  let passed = 0;
  try {
    const ids = await fill(server);
    for (const { name, run } of tests) {
      if ((only && !new RegExp(only).test(name)) || (isOthers && ofOwnServer.includes(name))) continue;
      const began = Date.now();
      try {
        await run({ browser, server, ids });
        ++passed;
        console.log(`ok      ${name} (${Date.now() - began} ms)`);
      } catch (error) {
        ++failed;
        console.log(`FAILED  ${name}\n${String(error.stack ?? error).slice(0, 4000)}`);
      }
    }
  } finally {
    await browser.close();
    await server.close();
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

// Claims `count` jobs of a queue. A node asks the others for jobs and for room under a limit, so one
// claim may bring fewer. The lease outlasts the test.
export async function claim(server, queue, worker, count = 1) {
  const jobs = [];
  const until = Date.now() + kPatience;
  while (jobs.length < count) {
    assert.ok(Date.now() < until, `${jobs.length} of ${count} jobs of ${queue} could be claimed`);
    jobs.push(
      ...(
        await server.call("POST", "/v1/claim", {
          queues: [queue],
          limit: count - jobs.length,
          wait_ms: 1000,
          lease_ms: 3_600_000,
          worker,
        })
      ).jobs,
    );
  }
  return jobs;
}

export async function settle(page) {
  await page.waitForFunction(
    () => document.querySelector("h1, .sign-in") && !document.querySelector("[aria-busy=true], .skeleton"),
    null,
    { timeout: kPatience },
  );
  await page.waitForTimeout(150);
}
export async function visit(page, server, place) {
  // A change of only the part after '#' loads nothing.
  await page.goto("about:blank");
  await page.goto(`${server.url}/${place}`);
  await settle(page);
}

// Visits pages, given by name and address, in both themes and at all widths: each has a head, fits, has no tiny text, no
// word in the console, and axe accepts it.
export async function drawsEverywhere(browser, server, pages) {
  for (const theme of themes) {
    for (const [size, width] of Object.entries(widths)) {
      if ((theme === "dark" && size !== "desk") || (isOthers && `${theme} ${size}` !== "light desk")) continue;
      const page = await newPage(browser, { theme, width, bypassCSP: true });
      for (const [name, place] of Object.entries(pages)) {
        await visit(page, server, place);
        await assertFits(page, `${name} in ${theme} at ${width}`);
        if (size !== "tablet") await assertAxe(page, `${name} in ${theme} at ${width}`);
      }
      assert.deepEqual(page.faults, []);
      await page.context().close();
    }
  }
}

async function assertFits(page, name) {
  assert.ok(await page.locator("h1").first().innerText(), `${name} has a head`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
  const { tiny, cut } = await page.evaluate(() => {
    const words = [...document.querySelectorAll("body *")].filter((each) =>
      [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""),
    );
    // A size of 0 is for screen readers only.
    const size = (each) => Number.parseFloat(getComputedStyle(each).fontSize);
    const head = document.querySelector("h1");
    return {
      tiny: words.filter((each) => size(each) > 0 && size(each) < 11).map((each) => each.outerHTML.slice(0, 100)),
      cut: head.innerText.length > 20 ? 0 : head.scrollWidth - head.clientWidth,
    };
  });
  assert.deepEqual(tiny, [], `text below 11 px on ${name}`);
  assert.ok(cut <= 0, `the head of ${name} lacks ${cut} px`);
}

async function assertAxe(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }),
  );
  const told = violations.map(
    (each) =>
      `${each.id}: ${each.nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)} ${node.failureSummary?.split("\n")[1] ?? ""}`)
        .join(" | ")}`,
  );
  assert.deepEqual(told, [], `axe on ${name}`);
}
