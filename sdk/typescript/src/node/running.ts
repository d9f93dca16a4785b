import { AsyncLocalStorage } from "node:async_hooks";

import type { Context } from "../context.js";

/** The context of the handler that runs, in everything that it calls. */
export const running = new AsyncLocalStorage<Context>();

/** The context of the handler that calls this, directly or not; undefined outside of handlers. */
export function currentContext(): Context | undefined {
  return running.getStore();
}
