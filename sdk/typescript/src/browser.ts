/**
 * The package for browsers and other runtimes than Node.js: the client, without workers. It needs
 * `fetch` and `performance`.
 */
import { Client, type ClientOptions } from "./client.js";
import { fetchTransport } from "./transport.js";

export * from "./common.js";

/** A client for browsers. See `Client` for its calls. */
export class Millrace extends Client {
  constructor(options: ClientOptions = {}) {
    super(options, {
      transport: fetchTransport(options.fetch ?? fetch.bind(globalThis)),
      setting: () => undefined,
      random,
      handlerTrace: () => undefined,
    });
  }
}

// Ids need not be secret, and a counter keeps the ids of one client distinct.
function random(bytes: Uint8Array): Uint8Array {
  const { crypto } = globalThis as { crypto?: Crypto };
  if (crypto) return crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
  return bytes.map(() => Math.random() * 256);
}
