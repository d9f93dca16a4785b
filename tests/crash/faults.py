"""The faults, one function each, by name.

A fault gets the rig with a server under load, does its harm, and leaves a server that serves, or
raises Trouble. A fault that needs preparation (a small disk, its own clock) has a function in
PREPARE, which raises Skipped if this machine can't do it.
"""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import time

import history
from rig import Trouble, harness

import postgres  # whose folder the rig has added

LIBFAKETIME = "faketime/libfaketimeMT.so.1"
LIBRARY_DIRECTORIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib")
DISK_BYTES = 96 << 20
REFUSAL_TIMEOUT_S = 60
LOG_TIMEOUT_S = 30
HOUR_S, DAY_S = 3600, 86400
CLOCK_LAG_S = 2.5  # libfaketime counts whole seconds, and looks at its file when more than one has passed


class Skipped(Exception):
    """Why a fault can't be injected here."""


# Faults of the process: kills, pauses, stops.


def kill(rig):
    rig.kill()
    time.sleep(rig.dice.choice((0, 0, 0.05, 0.5, 1.2)))
    rig.start()


def kill_in_a_row(rig):
    for _ in range(rig.dice.randint(3, 6)):
        rig.kill()
        rig.start()
        time.sleep(rig.dice.uniform(0, 0.4))


def kill_in_recovery(rig):
    """Kills the server repeatedly so soon after its start that it is not ready yet."""
    rig.kill()
    for _ in range(rig.dice.randint(2, 6)):
        rig.server.spawn()
        time.sleep(rig.dice.uniform(0.001, 0.06))
        rig.kill()
    rig.start()


def kill_in_making(rig):
    """Kills other servers while they create their directories; each must start in the end."""
    for _ in range(3):
        other = harness.Server("--log-level", "warn")
        try:
            for _ in range(rig.dice.randint(1, 8)):
                other.spawn()
                time.sleep(rig.dice.uniform(0.001, 0.04))
                other.kill()
            other.start()
        except AssertionError as error:
            raise Trouble(f"killed while its directory was made: {error}") from error
        finally:
            other.close()
    rig.await_service("others killed beside it")


def stop_and_continue(rig):
    """Pauses the server for longer than most leases."""
    rig.server.signal(signal.SIGSTOP)
    time.sleep(rig.dice.uniform(1.2, 3.2))
    rig.server.signal(signal.SIGCONT)
    rig.await_service("stopped and continued")


def short_pauses(rig):
    for _ in range(rig.dice.randint(6, 15)):
        rig.server.signal(signal.SIGSTOP)
        time.sleep(rig.dice.uniform(0.02, 0.3))
        rig.server.signal(signal.SIGCONT)
        time.sleep(rig.dice.uniform(0.01, 0.1))
    rig.await_service("many short pauses")


def stop_politely(rig):
    stop(rig.server)
    rig.start()


def stop_impatiently(rig):
    rig.server.signal(signal.SIGTERM)
    time.sleep(rig.dice.uniform(0, 0.02))
    rig.server.signal(rig.dice.choice((signal.SIGTERM, signal.SIGINT)))
    status = rig.server.wait()
    if status not in (0, 130):
        raise Trouble(f"two signals under load: exit status {status}\n{rig.server.log[-1500:]}")
    rig.start()


def upgrade(rig):
    """Stops the servers one after another, mostly gracefully, and restarts each as the program
    under test, which is newer if the round began with an older one.
    """
    for left, server in reversed(list(enumerate(rig.dice.sample(rig.servers, len(rig.servers))))):
        if rig.dice.random() < 0.25:
            server.kill()
            rig.kills += 1
        else:
            stop(server)
        server.binary = harness.BINARY
        rig.start()
        rig.await_service("upgraded")
        if history.limits_come_later and left > 0:
            rig.limits_are_refused()
        time.sleep(rig.dice.choice((0, 0.5, 2)))
    if history.limits_come_later:
        rig.make_limits()
        time.sleep(2)


def stop(server):
    server.signal(signal.SIGTERM)
    status = server.wait()
    if status != 0:
        raise Trouble(f"SIGTERM under load: exit status {status}\n{server.log[-1500:]}")


# The machine runs out of a resource.


def disk_full(rig):
    """Fills the disk for a while: writes must be refused with a clear problem, and then recover."""
    ballast = rig.server.data.parent / "ballast"
    fill(ballast, rig.dice.choice((0, 0, 40_000, 400_000)))
    deadline = time.monotonic() + REFUSAL_TIMEOUT_S
    refused = None
    while refused is None:
        record = rig.submit(size=4000)
        rig.must_live("disk full")
        if record and record.status == 503:
            refused = record.code
        elif time.monotonic() > deadline:
            raise Trouble("disk full: nothing is refused")
    if refused != "storage_unavailable":
        raise Trouble(f"disk full: refused with {refused}")
    time.sleep(rig.dice.uniform(0.1, 1.5))
    rig.must_live("disk full")
    if rig.dice.random() < 0.5:  # exposes answers that did not wait for their commits
        rig.kill()
        ballast.unlink()
        rig.start()
    else:
        ballast.unlink()
    rig.await_service("disk full, and room again")


def fill(path, room):
    """Writes a file that leaves this many bytes of its file system."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - room))


def small_disk(rig):
    where = rig.server.home / "disk"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "millrace", str(where)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Skipped(f"no small disk: {error}") from error
    if done.returncode != 0:
        raise Skipped(f"no small disk can be mounted: {done.stderr.strip()}")
    rig.undo.append(lambda: subprocess.run(["umount", "-l", str(where)], check=False))
    rig.server.data = where / "data"


def descriptors_can_run_out(_rig):
    # To know whether memory can be read, the undefined-behaviour sanitizer makes a pipe; where it can't, it takes
    # good objects for bad ones.
    if harness.is_sanitized():
        raise Skipped("a sanitizer needs descriptors of its own")


def descriptors(rig):
    """Allows fewer descriptors than incoming connections."""
    pid = rig.server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = len(os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + rig.dice.randint(0, 8), before[1]))
    flood, deadline = [], time.monotonic() + rig.dice.uniform(0.5, 1.5)
    while time.monotonic() < deadline and len(flood) < 400:
        try:
            flood.append(socket.create_connection(("127.0.0.1", rig.server.port), timeout=0.2))
        except OSError:
            time.sleep(0.01)
    time.sleep(max(0, deadline - time.monotonic()))
    rig.must_live("no descriptors left")
    for each in flood:
        each.close()
    # The clients may have used up the limit, so the probe would have to wait.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    rig.await_service("no descriptors left, and the flood over")


def memory(rig):
    """Takes away memory: the server may refuse requests or end, but never do half of a change."""
    pid = rig.server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_AS)
    used = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + rig.dice.choice((0, 0, 1 << 20))
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, before[1]))
    deadline = time.monotonic() + rig.dice.uniform(1, 2)
    while time.monotonic() < deadline and rig.alive():
        rig.submit(size=900_000)
    if rig.alive():
        resource.prlimit(pid, resource.RLIMIT_AS, before)
    try:
        rig.await_service("no memory, and memory again")
        rig.note("memory: it lived on")
    except Trouble:
        # It may have been about to end when memory became available.
        if rig.alive():
            raise
        rig.note(f"memory: it ended with {rig.server.wait()}")
        rig.start()
        rig.await_service("ended for want of memory, and started again")


def few_keys(rig):
    """Uses up the budget of idempotency keys: new ones must be refused, and none forgotten."""
    deadline = time.monotonic() + REFUSAL_TIMEOUT_S
    while True:
        record = rig.submit(keyed=True)
        if record and (record.status, record.code) == (503, "overloaded"):
            return
        if time.monotonic() > deadline:
            raise Trouble(f"keys beyond max_keys are taken: {record}")


def narrow_key_limit(rig):
    rig.server.args += ["--limits-max-keys", str(rig.dice.choice((50, 200)))]


# Damage to the data directory. In each case the server must refuse to start and name the file, or
# start without losing anything; with the good files back, all must be well.


def damaged(rig):
    name = rig.dice.choice(("journal.db", "jobs.db"))

    def flip(data):
        path = data / name
        content = bytearray(path.read_bytes())
        for _ in range(rig.dice.randint(1, 40)):
            content[rig.dice.randrange(len(content))] ^= 1 << rig.dice.randrange(8)
        path.write_bytes(content)

    harm_files(rig, f"bits flipped in {name}", name, flip, must_verify_badly=True)


def misplaced(rig):
    """Writes one page over another."""
    name, size = rig.dice.choice((("journal.db", 8192), ("jobs.db", 16384)))

    def swap(data):
        path = data / name
        content = bytearray(path.read_bytes())
        pages = len(content) // size
        if pages < 3:
            raise Trouble(f"{name} has {pages} pages only")
        source, target = rig.dice.sample(range(1, pages), 2)
        content[target * size : (target + 1) * size] = content[source * size : (source + 1) * size]
        path.write_bytes(content)

    harm_files(rig, f"a page of {name} misplaced", name, swap, must_verify_badly=True)


def truncated(rig):
    name = rig.dice.choice(("journal.db", "jobs.db"))

    def cut(data):
        path = data / name
        os.truncate(path, rig.dice.randrange(path.stat().st_size))

    harm_files(rig, f"{name} truncated", name, cut)


def older(rig):
    """Replaces one file by an older copy."""
    name = rig.dice.choice(("journal.db", "jobs.db"))
    stop_for_files(rig)
    copy = rig.server.home / "older"
    shutil.copytree(rig.server.data, copy)
    rig.start()
    time.sleep(1.5)

    def swap(data):
        shutil.copy(copy / name, data / name)

    harm_files(rig, f"an older {name}", "journal", swap)
    shutil.rmtree(copy)


def foreign(rig):
    name = rig.dice.choice(("journal.db", "jobs.db"))
    other = harness.Server("--log-level", "error").start()
    try:
        api = other.client()
        api.post("/v1/jobs", {"type": "other"})
        api.close()
        other.stop()

        def swap(data):
            shutil.copy(other.data / name, data / name)

        harm_files(rig, f"another store's {name}", name, swap, must_refuse=True)
    finally:
        other.close()


def missing(rig):
    name = rig.dice.choice(("journal.db", "jobs.db"))

    def remove(data):
        (data / name).unlink()

    harm_files(rig, f"no {name}", name, remove, must_refuse=True)


def stop_for_files(rig):
    """Stops the server cleanly, so that the files contain the write-ahead log's changes."""
    rig.server.signal(signal.SIGTERM)
    if rig.server.wait() != 0:
        raise Trouble(f"SIGTERM: exit status {rig.server.process.returncode}")


def harm_files(rig, what, name, harm, must_refuse=False, must_verify_badly=False):
    """Calls `harm(directory)` on the files of a stopped server, and starts the server. The result
    is thrown away; clients do not see it.
    """
    stop_for_files(rig)
    data, kept = rig.server.data, rig.server.home / "kept"
    shutil.copytree(data, kept)
    served_until = (data / "alive").read_text().strip()
    port, rig.server.port = rig.server.port, postgres.free_port()
    good, _ = look(rig)
    put_back(kept, data)
    harm(data)
    verified = harness.run("admin", "verify", "--data", data)
    harmed, said = look(rig)
    put_back(kept, data)
    shutil.rmtree(kept)
    rig.server.port = port
    rig.start()
    if must_verify_badly and (verified.returncode != 1 or name not in verified.stderr):
        raise Trouble(f"{what}: a verification does not find it: {verified}")
    if harmed is None:
        if name not in said:
            raise Trouble(f"{what}: the refusal does not name it:\n{said[-1500:]}")
        rig.note(f"{what}: refused: {said.strip()[-300:]}")
        return
    rig.note(f"{what}: served; verify exits with {verified.returncode}")
    if must_refuse:
        raise Trouble(f"{what}: served all the same")
    if isinstance(harmed, str):
        # Operations that need the page are refused, and the log names the page.
        if "storage_unavailable" not in harmed or name not in said:
            raise Trouble(f"{what}: served, and could not list: {harmed}\n{said[-1500:]}")
        return
    compare(what, good, harmed, served_until)


def look(rig):
    """Starts the server. Returns its list of jobs, a text if it serves but can't list, or None if
    it refuses; and its output.
    """
    mark = len(rig.server.log)
    served = False
    rig.server.spawn()
    try:
        harness.eventually(rig.server._ready, REFUSAL_TIMEOUT_S, what="a start or a refusal")
        served = True
        jobs = rig.list_jobs()
        rig.server.kill()
        return jobs, ""
    except (AssertionError, OSError, ValueError, Trouble) as error:
        rig.note(f"no listing: {str(error)[-300:]}")
        # It may not be ready by now, as the data that it needs to write its tables is damaged.
        if served and rig.alive():
            if "storage_unavailable" in str(error):
                # The answer comes before the line of the log that gives the reason.
                with contextlib.suppress(AssertionError):
                    harness.eventually(
                        lambda: "storage_unavailable" in rig.server.log[mark:],
                        LOG_TIMEOUT_S,
                        what="the reason in the log",
                    )
            rig.server.kill()
            return str(error)[-300:], rig.server.log[mark:]
    try:
        status = rig.server.wait(REFUSAL_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        said = rig.server.log[mark:]
        raise Trouble(f"on harmed files: neither serves nor ends: {said}") from error
    said = rig.server.log[mark:]
    if status != 1:
        raise Trouble(f"on harmed files: exit status {status}:\n{said[-1500:]}")
    return None, said


def put_back(kept, data):
    shutil.rmtree(data)
    shutil.copytree(kept, data)


def compare(what, good, harmed, served_until):
    """Compares the answers of a server on damaged files with those on good files."""
    good = {job["id"]: job for job in good if job["queue"] != "brief"}
    harmed = {job["id"]: job for job in harmed if job["queue"] != "brief"}
    if good.keys() != harmed.keys():
        differing = sorted(good.keys() ^ harmed.keys())
        raise Trouble(f"{what}: served with other jobs, {len(differing)}: {differing[:3]}")
    for job_id, job in good.items():
        # Meanwhile a job may have ended in one of the two runs, but its payload is the same.
        ended = job["state"] in history.TERMINAL and job["finished_at"] <= served_until
        names = list(job) if ended else ["payload", "queue", "type"]
        for name in names:
            if harmed[job_id][name] != job[name]:
                values = f"{str(harmed[job_id][name])[:120]}, not {str(job[name])[:120]}"
                raise Trouble(f"{what}: served job {job_id} with another {name}: {values}")


# The wall clock.


def clock(rig):
    """Sets the running server's clock ahead and back by an hour and by days."""
    for _ in range(rig.dice.randint(1, 3)):
        set_clock(rig, rig.dice.choice((HOUR_S, -HOUR_S, 3 * DAY_S, 0, 2)))
        time.sleep(rig.dice.uniform(0.3, 1.6))
        rig.must_live("a clock that steps")
    if rig.dice.random() < 0.5:
        rig.kill()
        set_clock(rig, rig.dice.choice((0, -DAY_S, DAY_S)))
        rig.start()
    rig.await_service("a clock that steps")


def set_clock(rig, offset_s):
    # Recorded before it is done, so that leases granted because of it come later in the records.
    by = offset_s - rig.clock_offset_s
    now = time.monotonic()
    end = now + CLOCK_LAG_S
    record = history.Record("rig-0", "step", now, end, "ok", {"seconds": by})
    with (rig.records / "clock.jsonl").open("a") as file:
        file.write(record.line() + "\n")
    draft = rig.server.home / "clock.new"
    draft.write_text(f"{offset_s:+d}\n")
    draft.replace(rig.server.home / "clock")
    rig.clock_offset_s = offset_s


def own_clock(rig):
    library = next((path for d in LIBRARY_DIRECTORIES if os.path.exists(path := f"{d}/{LIBFAKETIME}")), None)
    if library is None:
        raise Skipped("no libfaketime (Debian's package faketime)")
    if harness.is_sanitized():
        raise Skipped("libfaketime does not work inside a sanitizer's allocator")
    rig.clock_offset_s = 0
    (rig.server.home / "clock").write_text("+0\n")
    rig.server.env.update(
        LD_PRELOAD=library,
        FAKETIME_TIMESTAMP_FILE=rig.server.home / "clock",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
        FAKETIME_CACHE_DURATION="1",
    )


# Faults of the database (on PostgreSQL): stops, kills, lost sessions.


def own_database(rig):
    rig.cluster = postgres.Cluster()
    rig.undo.append(rig.cluster.close)
    rig.server.database = rig.cluster.new_database()


def database_restarted(rig):
    """Stops the database fast or immediately, or kills it; it is away for a moment."""
    rig.cluster.stop(rig.dice.choice((signal.SIGINT, signal.SIGQUIT)))
    time.sleep(rig.dice.choice((0, 0.3, 1.5)))
    rig.cluster.start()
    rig.await_service("the database was started again")


def sessions_ended(rig):
    """Ends every session of the server, repeatedly, in the middle of its work."""
    until = time.monotonic() + rig.dice.uniform(0.5, 1.5)
    while time.monotonic() < until:
        rig.cluster.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'millrace %'"
        )
        time.sleep(rig.dice.uniform(0, 0.05))
    rig.await_service("its sessions were ended")


def backend_killed(rig):
    """Kills the process of one session, so that the whole database recovers from its log."""
    pid = rig.cluster.sql("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'millrace %' LIMIT 1")
    if pid:
        os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.3)
    rig.cluster.await_answer()
    rig.await_service("a process of the database's was killed")


FAULTS_OF_SQLITE = {
    "kill": kill,
    "kill-in-a-row": kill_in_a_row,
    "kill-in-recovery": kill_in_recovery,
    "kill-in-making": kill_in_making,
    "stop-and-continue": stop_and_continue,
    "short-pauses": short_pauses,
    "stop-politely": stop_politely,
    "stop-impatiently": stop_impatiently,
    "upgrade": upgrade,
    "disk-full": disk_full,
    "descriptors": descriptors,
    "memory": memory,
    "few-keys": few_keys,
    "damaged": damaged,
    "misplaced": misplaced,
    "truncated": truncated,
    "older": older,
    "foreign": foreign,
    "missing": missing,
    "clock": clock,
}
# Faults that do not affect files or their disk.
FAULTS_OF_POSTGRES = {
    **{
        name: FAULTS_OF_SQLITE[name]
        for name in (
            "kill",
            "kill-in-a-row",
            "kill-in-recovery",
            "kill-in-making",
            "stop-and-continue",
            "short-pauses",
            "stop-politely",
            "stop-impatiently",
            "upgrade",
            "clock",
        )
    },
    "database-restarted": database_restarted,
    "sessions-ended": sessions_ended,
    "backend-killed": backend_killed,
}
FAULTS = FAULTS_OF_POSTGRES if harness.STORE == "postgres" else FAULTS_OF_SQLITE
PREPARE = {
    "disk-full": small_disk,
    "few-keys": narrow_key_limit,
    "clock": own_clock,
    "descriptors": descriptors_can_run_out,
    "database-restarted": own_database,
    "sessions-ended": own_database,
    "backend-killed": own_database,
}
# Faults that may be added to a round's own fault.
COMPANIONS = (
    "kill",
    "kill",
    "kill-in-a-row",
    "kill-in-recovery",
    "stop-and-continue",
    "short-pauses",
    "stop-politely",
    "stop-impatiently",
    *(("descriptors",) if harness.STORE == "sqlite" else ()),
)
