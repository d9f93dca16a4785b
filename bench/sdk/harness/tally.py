"""Counts the handlers that have run, and reports the first and the last to bench/sdk/run."""

import json
import mmap
import threading
import time

LOOK_S = 0.002


class Tally:
    """A slot for each process that runs handlers, in memory shared with children that are forked later."""

    def __init__(self, jobs, slots=1):
        self._memory = memoryview(mmap.mmap(-1, slots * 24)).cast("d")
        self._slots = slots
        self._lock = threading.Lock()
        if jobs:
            threading.Thread(target=self._watch, args=(jobs,), daemon=True).start()

    def ran(self, slot=0):
        """Must be called by each handler. The clock is the same in all processes."""
        now, at = time.monotonic(), slot * 3
        with self._lock:
            self._memory[at + 1] = now
            if not self._memory[at]:
                self._memory[at + 2] = now
            self._memory[at] += 1

    def _watch(self, jobs):
        began = False
        while True:
            count = sum(self._memory[0::3])
            if count and not began:
                began = True
                print("began", flush=True)
            if count >= jobs:
                break
            time.sleep(LOOK_S)
        used = [at * 3 for at in range(self._slots) if self._memory[at * 3]]
        seconds = max(self._memory[at + 1] for at in used) - min(self._memory[at + 2] for at in used)
        print("ended", json.dumps({"jobs": int(count), "seconds": seconds}), flush=True)
