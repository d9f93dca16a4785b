"""Starting programs, waiting for them, ending them by their id."""

import contextlib
import json
import os
import pathlib
import pwd
import select
import shutil
import socket
import subprocess
import tempfile
import time

START_S = 30
END_S = 20


class Skipped(Exception):
    """A program that can't be measured here; the text is the reason."""


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
    """The user for servers that refuse to run as root; None if this process is not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise Skipped("no ordinary user to run it as")


@contextlib.contextmanager
def data_folder(parent, owner=None):
    """A new folder for a server's data, removed with its content afterwards."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="millrace-compare-", dir=parent))
    try:
        if owner:
            shutil.chown(path, owner)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


# Results must not contain paths of this machine.
ROOT = str(pathlib.Path(__file__).resolve().parents[2])


def reason_in(text):
    """The line with the reason for a program's failure: the first that mentions an error, else the last."""
    lines = [line.strip() for line in text.replace(ROOT + "/", "").splitlines() if line.strip()]
    named = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return (named or lines[-1:] or ["it said nothing"])[0][:200]


def end(process):
    """Asks the process to stop, and kills it if it does not."""
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
        process = started(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            user=user,
            cwd=folder,
        )
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
        run = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env={**os.environ, **(environment or {})},
            check=False,
        )
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
            self.process = started(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=cwd,
                env={**os.environ, **environment},
            )
        self.output = self.process.stdout

    def expect(self, beginning):
        """The next line of its output, which must begin with the given text."""
        line = self.output.readline()
        if not line.startswith(beginning):
            raise Skipped(f"its client failed: {reason_in(self.log.read_text(errors='replace'))}")
        return line

    def go(self):
        with contextlib.suppress(BrokenPipeError):  # its output tells why it has gone
            self.process.stdin.write("go\n")
            self.process.stdin.flush()

    def close(self):
        end(self.process)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.output.close()


class Deadline:
    def __init__(self, limit_s):
        self.limit_s = limit_s
        self.end = time.monotonic() + limit_s

    def first_with_output(self, clients):
        """Waits for a client that has printed something or has ended."""
        left = max(0, self.end - time.monotonic())
        readable, _, _ = select.select([client.output for client in clients], [], [], left)
        if not readable:
            raise Skipped(f"not done within {self.limit_s} s")
        return next(client for client in clients if client.output is readable[0])


def lifecycles(command, folder, options, port, environment, cwd):
    """Lifecycles a second of a worker and a producer that begin at the same time, until the worker has seen all jobs
    through."""
    deadline = Deadline(options.limit_s)
    numbers = [options.jobs, options.batch, options.payload, port]
    clients, jobs, took = {}, {}, None
    with contextlib.ExitStack() as at_end:
        for role in ("worker", "producer"):  # the worker makes what both need
            client = clients[role] = Client([*command, role, *numbers], folder, environment, cwd)
            at_end.callback(client.close)
            deadline.first_with_output([client]).expect("ready")
        begin = time.monotonic()
        for client in clients.values():
            client.go()
        while len(jobs) < len(clients):
            # Reads whichever prints first, so that a failed producer is noticed without waiting for its worker.
            client = deadline.first_with_output([clients[role] for role in clients if role not in jobs])
            role = next(role for role in clients if clients[role] is client)
            if role == "worker":
                took = time.monotonic() - begin
            jobs[role] = json.loads(client.expect("{"))["jobs"]
    if set(jobs.values()) != {options.jobs}:
        raise Skipped(f"of {options.jobs} jobs {jobs['producer']} were submitted and {jobs['worker']} completed")
    return options.jobs / took
