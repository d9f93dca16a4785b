// Real servers for the tests: each runs the binary MILLRACE_BIN on a free loopback port, with a
// directory of its own, and is ended by its process.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import * as http from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export { sleep };

const TREE = fileURLToPath(new URL("../../../../", import.meta.url));
const BINARY = process.env.MILLRACE_BIN ?? join(TREE, "build/release/millrace");

const PORTS_OF_A_PROCESS = 40;
let nextPort = 0;

/**
 * Returns a free port. As in tests/postgres.py, each process has its own range of ports, below
 * those that the system uses for outgoing connections, so that it is still free when a server
 * (re)starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const first = 20_000 + (process.pid % 300) * PORTS_OF_A_PROCESS;
    const port = first + (nextPort++ % PORTS_OF_A_PROCESS);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}

/** For a busy machine. */
export const PATIENCE = 60_000;

export async function eventually(
  condition: () => unknown,
  timeout = PATIENCE,
  what = "the condition",
): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come to hold`);
    await sleep(10);
  }
}

export class Server {
  readonly home = mkdtempSync(join(tmpdir(), "millrace-ts-"));
  readonly port: number;
  #process: ChildProcess | undefined;

  private constructor(
    port: number,
    readonly postgres?: string,
  ) {
    this.port = port;
  }

  /** A server that runs, on SQLite or this database, and ends after the tests of the file. */
  static async running(postgres?: string): Promise<Server> {
    const server = new Server(await freePort(), postgres);
    after(() => server.close());
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const store = this.postgres
      ? ["--postgres", this.postgres]
      : ["--data", join(this.home, "data")];
    const args = ["serve", "--listen", `127.0.0.1:${this.port}`, ...store];
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_"));
    this.#process = spawn(BINARY, args, { stdio: "ignore", env: Object.fromEntries(env) });
    const isReady = (): Promise<boolean> =>
      fetch(`${this.url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
    await eventually(isReady, PATIENCE, "readiness of the server");
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const running = this.#process;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    running.kill(signal);
    await once(running, "exit");
  }

  async close(): Promise<void> {
    await this.end("SIGKILL");
    rmSync(this.home, { recursive: true, force: true });
  }
}

const POSTGRES = `import sys, postgres
print(postgres.shared().new_database(), flush=True)
sys.stdin.read()`;

/** Returns the URL of an empty database of a PostgreSQL that ends after the tests of the file. */
export async function database(): Promise<string> {
  const env = { ...process.env, PYTHONPATH: join(TREE, "tests") };
  const stdio = ["pipe", "pipe", "inherit"] as const;
  const program = spawn("python3", ["-B", "-c", POSTGRES], { env, stdio: [...stdio] });
  after(() => program.stdin?.end());
  const [line] = await once(program.stdout as NodeJS.ReadableStream, "data");
  return String(line).trim();
}

/** A peer that is not Millrace. The handlers answer in turn; the last one repeats. */
export async function strangeServer(...handlers: http.RequestListener[]): Promise<{
  url: string;
  seen: http.IncomingMessage[];
}> {
  const seen: http.IncomingMessage[] = [];
  const server = http.createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      seen.push(request);
      const handler = handlers[Math.min(seen.length, handlers.length) - 1];
      handler?.(request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** Answers with this status and JSON. */
export function answering(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): http.RequestListener {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Breaks the connection. */
export const breaking: http.RequestListener = (request) => request.socket.destroy();

let names = 0;

/** Returns the name of a queue that no other test uses. */
export function ownQueue(): string {
  return `q${process.pid}-${++names}`;
}
