// A server for the tests of the dashboard: a process of its own, with its data in a temporary folder.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

export class Server {
  // `binary`: the program; `config`: the text of its configuration file.
  constructor(binary, config = "", flags = []) {
    this.binary = binary;
    this.flags = flags;
    this.folder = mkdtempSync(join(tmpdir(), "millrace-dashboard-"));
    writeFileSync(join(this.folder, "millrace.toml"), config);
  }
  async start() {
    this.port ??= await freePort();
    this.url = `http://127.0.0.1:${this.port}`;
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_")));
    const args = ["serve", "--config", join(this.folder, "millrace.toml"), "--listen", `127.0.0.1:${this.port}`, "--data", join(this.folder, "data"), "--drain", "1s", ...this.flags];
    this.process = spawn(this.binary, args, { env: environment, stdio: "ignore" });
    this.ended = new Promise((resolve) => this.process.on("exit", resolve));
    for (let i = 0; i < 200; ++i) {
      try {
        if ((await fetch(`${this.url}/readyz`)).ok) return;
      } catch {
        // not yet
      }
      await sleep(50);
    }
    throw new Error("the server does not start");
  }
  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }
  async close() {
    await this.stop("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
  async call(method, path, body, token) {
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const answer = await fetch(`${this.url}${path}`, { method, headers, body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return text ? JSON.parse(text) : null;
  }
}

// A server that somebody else has started, and ends.
export class OthersServer {
  constructor(url) {
    this.url = url;
    this.port = Number(new URL(url).port);
  }
  async start() {}
  async close() {}
  call(method, path, body, token) {
    return Server.prototype.call.call(this, method, path, body, token);
  }
}
