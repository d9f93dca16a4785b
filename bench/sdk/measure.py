"""One run of a worker, and the cost of a waiting worker."""

import contextlib
import json
import os
import pathlib
import queue
import threading
import time

from processes import Skipped, end, reason_in, started

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SETTLE_S = 10  # until a worker has started, and has begun to wait


def fields(pid):
    """The fields of /proc/PID/stat after the name; none if the process has gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return None


def family(root):
    """The fields of a process and its descendants, by process id."""
    every = {int(path.name): fields(path.name) for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()}
    every = {pid: stat for pid, stat in every.items() if stat}
    found, fresh = set(), {root} & every.keys()
    while fresh:
        found |= fresh
        fresh = {pid for pid, stat in every.items() if int(stat[1]) in fresh} - found
    return {pid: every[pid] for pid in found}


def processor_s(root):
    """Processor time of the process and its descendants, including ended ones."""
    return sum(sum(map(int, stat[11:15])) for stat in family(root).values()) * TICK_S


def precise_s(root):
    """The same of the threads that live now, to the microsecond."""
    total = 0
    for pid in family(root):
        for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(thread.read_text().split()[0])
    return total / 1e9


def machine_s():
    """Processor time that the whole machine has used."""
    user, nice, system, _, _, interrupts, soft = map(int, pathlib.Path("/proc/stat").read_text().split(None, 8)[1:8])
    return (user + nice + system + interrupts + soft) * TICK_S


class Running:
    """A started program. It prints `began` and `ended {...}`; its other output is ignored."""

    def __init__(self, program, role, jobs, port, folder):
        self.log = folder / f"{role}-{port}.log"
        with open(self.log, "wb") as errors:
            self.process = started(
                program.called(role, jobs, port),
                stdin=-3,
                stdout=-1,
                stderr=errors,
                text=True,
                cwd=program.folder,
                env={**os.environ, **program.environment},
            )
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word in ("began", "ended"):
                self._lines.put((word, rest))
        self._lines.put(("", ""))

    def expect(self, word, deadline):
        try:
            said, rest = self._lines.get(timeout=max(0.1, deadline - time.monotonic()))
        except queue.Empty:
            raise Skipped(f"it was not done in time: {reason_in(self.log.read_text(errors='replace'))}") from None
        if said != word:
            raise Skipped(f"its program ended: {reason_in(self.log.read_text(errors='replace'))}")
        return rest

    def close(self):
        end(self.process)
        self.process.stdout.close()


@contextlib.contextmanager
def running(*arguments):
    program = Running(*arguments)
    try:
        yield program
    finally:
        program.close()


def enqueue(program, store, jobs, folder, deadline):
    if store.enqueue:
        store.enqueue(jobs)
        return
    with running(program, "enqueue", jobs, store.port, folder) as producer:
        producer.expect("ended", deadline)
        producer.process.wait(60)


def rate(row, program, options, jobs, folder):
    """Jobs a second of one worker that finds all jobs in the store, and the processor time of each."""
    deadline = time.monotonic() + options.limit_s
    with row.store(options, row.unfinished) as store:
        enqueue(program, store, jobs, folder, deadline)
        with running(program, "work", jobs, store.port, folder) as worker:
            worker.expect("began", deadline)
            before = processor_s(worker.process.pid), processor_s(store.pid), machine_s(), time.monotonic()
            seconds = json.loads(worker.expect("ended", deadline))["seconds"]
            after = processor_s(worker.process.pid), processor_s(store.pid), machine_s(), time.monotonic()
        of_worker, of_server, of_all, took = (late - early for late, early in zip(after, before, strict=True))
        if left := store.left():
            raise Skipped(f"{left} of {jobs} jobs had not succeeded when the worker had stopped")
        return {
            "jobs_per_s": round(jobs / seconds, 1),
            "worker_us_a_job": round(of_worker / jobs * 1e6, 1),
            "server_us_a_job": round(of_server / jobs * 1e6, 1),
            "others_share": round(max(0.0, of_all - of_worker - of_server) / took / os.cpu_count(), 3),
            "store": store.version,
        }


def idle(rows, built, options, folder):
    """Processor time of idle workers, measured together, each with its own server. By label."""
    with contextlib.ExitStack() as at_end:
        waiting, costs = {}, {}
        for row in rows:
            try:
                store = at_end.enter_context(row.store(options, row.unfinished))
                worker = at_end.enter_context(running(built[row.label], "work", 0, store.port, folder))
            except Skipped as reason:
                options.say(f"{row.label}: {reason}")
                continue
            waiting[row.label] = worker.process.pid, store.pid
        time.sleep(options.settle_s)
        before = {
            label: (processor_s(pid), precise_s(pid), precise_s(server)) for label, (pid, server) in waiting.items()
        }
        time.sleep(options.idle_s)
        for label, (pid, server) in waiting.items():
            if not fields(pid):
                options.say(f"{label}: its worker ended while it waited")
                continue
            ticks, precise, of_server = before[label]
            # Ticks include ended threads; the precise figure includes times below a tick.
            cost = max(precise_s(pid) - precise, processor_s(pid) - ticks - 2 * TICK_S)
            costs[label] = {
                "idle_worker_ms": round(cost * 1e3, 1),
                "idle_server_ms": round((precise_s(server) - of_server) * 1e3, 1),
            }
    return costs
