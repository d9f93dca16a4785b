// A page in a real browser submits a job through the site that served it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Millrace } from "@millrace/sdk";

import { Server } from "./support.js";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

const PAGE = `<!doctype html><script type="module">
import { Millrace, NotFound } from "/dist/browser/browser.js";
try {
  const mr = new Millrace({ url: location.origin });
  const { job, isNew } = await mr.submit({ type: "from.page", payload: { a: "é" } });
  const missing = await mr.get("nope").catch((error) => error instanceof NotFound);
  const ended = await mr.wait(job.id, { timeout: 60000 });
  await fetch("/done", { method: "POST", body: JSON.stringify({ isNew, missing, result: ended.result }) });
} catch (error) {
  await fetch("/done", { method: "POST", body: JSON.stringify({ error: String(error?.stack) }) });
}
</script>`;

/** Serves the page and the package, forwards /v1/ to Millrace, and returns the page's reports. */
async function site(
  millrace: string,
): Promise<{ url: string; done: Promise<string>; end(): void }> {
  let tell: (seen: string) => void;
  const done = new Promise<string>((resolve) => (tell = resolve));
  const server = http.createServer((request, response) => {
    const { url = "/", method, headers } = request;
    if (url.startsWith("/v1/")) {
      const { host } = new URL(millrace);
      const onward = http.request(
        millrace + url,
        { method, headers: { ...headers, host } },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(onward);
    } else if (url.startsWith("/dist/")) {
      response.writeHead(200, { "content-type": "text/javascript" });
      response.end(readFileSync(join(DIST, url.slice("/dist/".length))));
    } else if (url === "/done") {
      let text = "";
      request.on("data", (chunk) => (text += chunk));
      request.on("end", () => tell(text));
      response.end();
    } else {
      response
        .writeHead(url === "/" ? 200 : 404, { "content-type": "text/html; charset=utf-8" })
        .end(url === "/" ? PAGE : "");
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, done, end };
}

test(
  "a page submits a job and waits for it",
  { skip: !CHROMIUM && "there is no Chromium" },
  async (t) => {
    const server = await Server.running();
    const worker = new Millrace({ url: server.url }).worker().on("from.page", (payload) => payload);
    worker.start();
    t.after(() => worker.stop());
    const page = await site(server.url);
    t.after(() => page.end());
    const profile = mkdtempSync(join(tmpdir(), "millrace-ts-chromium-"));
    const flags =
      "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage " +
      "--disable-background-networking --disable-component-update --disable-sync";
    const args = [
      ...flags.split(" "),
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      page.url,
    ];
    const browser = spawn(CHROMIUM as string, args, { stdio: "ignore", detached: true });
    const ended = once(browser, "exit");
    t.after(async () => {
      // Kills the group, as the browser's other processes outlive it and write to the profile.
      if (browser.pid && browser.exitCode === null) process.kill(-browser.pid, "SIGKILL");
      await ended;
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    });
    const seen = JSON.parse(await page.done) as unknown;
    assert.deepEqual(seen, { isNew: true, missing: true, result: { a: "é" } });
  },
);
