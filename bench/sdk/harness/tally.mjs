// Counts the handlers that have run, and reports the first and the last to bench/sdk/run.
export function tally(jobs) {
  let count = 0;
  let first = 0;
  return () => {
    const now = performance.now();
    if (++count === 1) {
      first = now;
      console.log("began");
    }
    if (count === jobs) console.log("ended", JSON.stringify({ jobs: count, seconds: (now - first) / 1000 }));
  };
}
