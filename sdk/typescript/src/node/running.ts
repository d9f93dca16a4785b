import { AsyncLocalStorage } from "node:async_hooks";

import type { Context } from "../context.js";

/** The context of the running handler, visible in everything that the handler calls. */
export const running = new AsyncLocalStorage<Context>();

/** Returns the context of the calling handler, even for indirect calls; undefined elsewhere. */
export function currentContext(): Context | undefined {
  return running.getStore();
}
