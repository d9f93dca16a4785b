import { format } from "node:util";

import { running } from "./running.js";
import type { LogLevel } from "../types.js";

const LEVELS: Record<"debug" | "log" | "info" | "warn" | "error", LogLevel> = {
  debug: "debug",
  log: "info",
  info: "info",
  warn: "warn",
  error: "error",
};

let isCaptured = false;

/** From now on, copies lines that a handler writes to `console` to its job's log. */
export function captureConsole(): void {
  if (isCaptured) return;
  isCaptured = true;
  for (const [method, level] of Object.entries(LEVELS) as [keyof typeof LEVELS, LogLevel][]) {
    const write = console[method].bind(console);
    console[method] = (...values: unknown[]): void => {
      running.getStore()?.addLine(level, format(...values));
      write(...values);
    };
  }
}
