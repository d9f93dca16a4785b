/** Returns the process's monotonic clock, which all its threads share, in milliseconds. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
