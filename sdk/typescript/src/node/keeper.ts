import { join } from "node:path";
import { Worker as Thread } from "node:worker_threads";

import { now } from "./clock.js";
import type { HttpOptions } from "./http.js";
import { LeaseTable, type Row } from "./lease-table.js";

/** The data passed to the keeper's thread. */
export interface KeeperData {
  memory: SharedArrayBuffer;
  url: string;
  token: string | undefined;
  ca: HttpOptions["ca"];
  worker: string;
}

/** Messages to the keeper's thread. */
export const WAKE = 0;
export const WATCH_SIGNALS = 1;

/** How late a heartbeat may be, in milliseconds, before the keeper sends it. */
export const graceOf = (lease: number): number => lease / 12;

/**
 * Extends leases while a handler blocks the worker's thread, as a long computation does, and gets
 * the signals that cannot reach that thread. It sleeps as long as the worker's own heartbeats are
 * sent in time.
 */
export class Keeper {
  readonly #table: LeaseTable;
  readonly #free: number[];
  readonly #thread: Thread;

  constructor(rows: number, data: Omit<KeeperData, "memory">, warn: (message: string) => void) {
    this.#table = LeaseTable.withRows(rows);
    this.#free = Array.from({ length: rows }, (_, index) => rows - 1 - index);
    const workerData: KeeperData = { ...data, memory: this.#table.memory };
    const settings = {
      workerData,
      stdin: false,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 64 },
    };
    this.#thread = new Thread(join(__dirname, "keeper-thread.js"), settings);
    this.#thread.unref();
    this.#thread.on("error", (fault) => {
      warn(`the thread that keeps leases has ended: ${fault.message}; handlers must not block`);
    });
  }

  enter(id: string, token: number, lease: number): Row | undefined {
    const index = this.#free.pop();
    return index === undefined ? undefined : this.#table.enter(index, id, token, lease);
  }

  leave(row: Row): void {
    this.#table.leave(row);
    this.#free.push(row.index);
  }

  /** Stores when the worker plans its next heartbeat, and until when the lease is certain. */
  plan(row: Row, beatDue: number, certainUntil: number, lease: number): void {
    this.#table.plan(row, beatDue, certainUntil);
    if (beatDue + graceOf(lease) < this.#table.keeperWakesAt) {
      this.#table.keeperWakesAt = now(); // one message is enough
      this.#thread.postMessage(WAKE);
    }
  }

  /** Makes the keeper watch for signals to stop, too. Resolves when it does, or can't. */
  async watchSignals(): Promise<void> {
    const watches = new Promise<unknown>((resolve) => {
      for (const event of ["message", "error", "exit"]) this.#thread.once(event, resolve);
    });
    this.#thread.postMessage(WATCH_SIGNALS);
    await watches;
  }

  /** Called for each signal that this thread gets. */
  heardSignal(): void {
    this.#table.noteHeard();
  }

  /** How many signals to stop have come, also while a handler blocks this thread. */
  get signals(): number {
    return this.#table.signals;
  }

  answer(row: Row): ReturnType<LeaseTable["answer"]> {
    return this.#table.answer(row);
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
  }
}
