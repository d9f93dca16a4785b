/** The package for Node.js: the client, workers and the fake. */
export * from "./common.js";
export { Fake, type FakeOptions } from "./fake/fake.js";
export type { HttpOptions } from "./node/http.js";
export { Millrace, type MillraceOptions } from "./node/millrace.js";
export { currentContext } from "./node/running.js";
export type { Worker, WorkerLogger, WorkerOptions } from "./node/worker.js";
