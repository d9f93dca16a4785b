/** The monotonic clock of the process, the same on all its threads, in milliseconds. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
