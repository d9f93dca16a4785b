/**
 * The package for browsers and other places without Node.js: the client, without workers. It needs
 * `fetch`, `crypto.getRandomValues` and `performance`.
 */
import { Client, type ClientOptions } from "./client.js";
import { fetchTransport } from "./transport.js";

export * from "./common.js";

/** A client. See `Client` for its calls. */
export class Millrace extends Client {
  constructor(options: ClientOptions = {}) {
    super(options, {
      transport: fetchTransport(options.fetch ?? fetch.bind(globalThis)),
      setting: () => undefined,
      random: (bytes) => crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>),
      handlerTrace: () => undefined,
    });
  }
}
