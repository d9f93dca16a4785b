// A server for the tests of the dashboard: a separate process with its data in a temporary folder.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// As in tests/postgres.py, each process has its own range of ports, below those that the system uses for outgoing
// connections, so that a port is still free when its server starts or restarts.
const kPortsOfAProcess = 40;
let nextPort = 0;
export async function freePort() {
  for (;;) {
    const port = 20_000 + (process.pid % 300) * kPortsOfAProcess + (nextPort++ % kPortsOfAProcess);
    const probe = createServer();
    const isFree = await new Promise((resolve) =>
      probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)),
    );
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

// For a busy machine.
export const kPatience = 60_000;
export async function until(what, holds) {
  const ends = Date.now() + kPatience;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > ends) throw new Error(`not within ${kPatience / 1000} s: ${what}`);
    await sleep(50);
  }
}

export class Server {
  // `binary` is the program, `config` the text of its configuration file.
  constructor(binary, config = "", flags = []) {
    this.binary = binary;
    this.flags = flags;
    this.folder = mkdtempSync(join(tmpdir(), "millrace-dashboard-"));
    writeFileSync(join(this.folder, "millrace.toml"), config);
  }
  async start() {
    this.port ??= await freePort();
    this.url = `http://127.0.0.1:${this.port}`;
    const environment = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_")),
    );
    const args = [
      "serve",
      "--config",
      join(this.folder, "millrace.toml"),
      "--listen",
      `127.0.0.1:${this.port}`,
      "--data",
      join(this.folder, "data"),
      "--drain",
      "1s",
      ...this.flags,
    ];
    this.process = spawn(this.binary, args, { env: environment, stdio: "ignore" });
    this.ended = new Promise((resolve) => this.process.on("exit", resolve));
    const isReady = async () =>
      this.process.exitCode !== null ||
      (await fetch(`${this.url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      ));
    await until("the server starts", isReady);
    if (this.process.exitCode !== null) throw new Error(`the server ended with ${this.process.exitCode}`);
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
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return text ? JSON.parse(text) : null;
  }
}

// Makes a token: its secret, and its block of the configuration file.
export async function newToken(binary, name, scopes) {
  const flags = scopes.flatMap((scope) => ["--scope", scope]);
  const child = spawn(binary, ["token", "new", "--name", name, ...flags]);
  let text = "";
  child.stdout.on("data", (data) => (text += data));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`token new ended with ${code}`);
  const lines = text.slice(text.indexOf("[[tokens]]")).split("\n");
  return {
    secret: /mlr_[0-9a-f_]+/.exec(text)[0],
    block: lines.map((line) => (/^\[\[tokens\]\]|^\s*\w+ *= /.test(line) ? `${line}\n` : "")).join(""),
  };
}

// A server that was started, and will be ended, by somebody else.
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
