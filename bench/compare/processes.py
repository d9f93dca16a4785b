"""Starting programs, waiting for them, ending them by their id."""

import contextlib
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
import time

START_S = 30
END_S = 20


class Skipped(Exception):
    """A contestant that cannot be measured here; the text is the reason."""


def started(command, **how):
    try:
        return subprocess.Popen([str(word) for word in command], **how)
    except FileNotFoundError as fault:
        raise Skipped(f"there is no {pathlib.Path(fault.filename).name}") from None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ordinary_user():
    """Whom a server that refuses the superuser runs as; None when we are an ordinary user ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise Skipped("no ordinary user to run it as")


@contextlib.contextmanager
def data_folder(parent, owner=None):
    """A new folder for a server's data, removed with all that is in it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="millrace-compare-", dir=parent))
    try:
        if owner:
            shutil.chown(path, owner)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


# No path of this machine goes into a result.
ROOT = str(pathlib.Path(__file__).resolve().parents[2])


def reason_in(text):
    """The line that says why a program failed: the first that speaks of an error, else the last."""
    lines = [line.strip() for line in text.replace(ROOT + "/", "").splitlines() if line.strip()]
    named = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return (named or lines[-1:] or ["it said nothing"])[0][:200]


def end(process):
    """Asks it to stop, insists when it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def server(command, port, folder, environment=None, user=None):
    """A server that listens on the port for as long as the block lasts."""
    log = folder / "server.log"
    name = pathlib.Path(command[0]).name
    with open(log, "wb") as output:
        process = started(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                          env={**os.environ, **(environment or {})}, user=user, cwd=folder)
    try:
        limit = time.monotonic() + START_S
        while True:
            if process.poll() is not None:
                raise Skipped(f"{name} ended at once: {reason_in(log.read_text(errors='replace'))}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if time.monotonic() > limit:
                raise Skipped(f"{name} does not listen: {reason_in(log.read_text(errors='replace'))}")
            time.sleep(0.02)
        yield process
    finally:
        end(process)


def answer_of(command, timeout_s, environment=None):
    """The JSON object that a program prints as its last line."""
    try:
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout_s,
                             env={**os.environ, **(environment or {})}, check=False)
    except subprocess.TimeoutExpired:
        raise Skipped(f"not done within {timeout_s} s") from None
    if run.returncode != 0:
        raise Skipped(f"{pathlib.Path(command[0]).name} failed: {reason_in(run.stderr)}")
    return json.loads(run.stdout.strip().splitlines()[-1])


class Client:
    """A client of peers/: started, ready, given its line, finished."""

    def __init__(self, command, folder, environment, cwd):
        self.log = folder / f"client-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as errors:
            self.process = started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                   text=True, cwd=cwd, env={**os.environ, **environment})

    def wait_ready(self):
        if self.process.stdout.readline().strip() != "ready":
            raise Skipped(f"its client did not start: {reason_in(self.log.read_text(errors='replace'))}")

    def go(self):
        with contextlib.suppress(BrokenPipeError):  # done() tells why it has gone
            self.process.stdin.write("go\n")
            self.process.stdin.flush()

    def done(self):
        line = self.process.stdout.readline()
        if not line.startswith("{"):
            raise Skipped(f"its client failed: {reason_in(self.log.read_text(errors='replace'))}")
        return json.loads(line)["jobs"]

    def close(self):
        end(self.process)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


def lifecycles(command, folder, options, port, environment, cwd):
    """Lifecycles a second of a producer and a worker that begin at the same time. The worker is made first: it is the
    one that makes what both need."""
    numbers = [options.jobs, options.batch, options.payload, port]
    clients = []
    # A client that hangs would hold the whole run: past the limit both are ended, and reading them fails.
    watchdog = None
    try:
        for role in ("worker", "producer"):
            clients.append(Client([*command, role, *numbers], folder, environment, cwd))
            watchdog = watchdog or Watchdog(clients, options.limit_s)
            clients[-1].wait_ready()
        begin = time.monotonic()
        for client in clients:
            client.go()
        completed = clients[0].done()
        took = time.monotonic() - begin
        submitted = clients[1].done()
    except Skipped:
        if watchdog and watchdog.has_ended_them:
            raise Skipped(f"not done within {options.limit_s} s") from None
        raise
    finally:
        if watchdog:
            watchdog.cancel()
        for client in clients:
            client.close()
    if (submitted, completed) != (options.jobs, options.jobs):
        raise Skipped(f"of {options.jobs} jobs {submitted} were submitted and {completed} completed")
    return options.jobs / took


class Watchdog:
    def __init__(self, clients, limit_s):
        self.clients = clients
        self.has_ended_them = False
        self.timer = threading.Timer(limit_s, self.fire)
        self.timer.daemon = True
        self.timer.start()

    def fire(self):
        self.has_ended_them = True
        for client in self.clients:
            client.process.kill()

    def cancel(self):
        self.timer.cancel()
