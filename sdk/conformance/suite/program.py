"""The program of an SDK, which reads commands and writes answers and events."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time

from .failure import Failure, shown

# For a busy machine.
ANSWER_S = 60
EVENT_S = 60
END_S = 60
SETTLE_S = 30
START_S = 300  # it may build itself first
KEPT_STDERR = 6000


class Refused(Exception):
    """The program answered a command with an error: `error`, in the contract's form."""

    def __init__(self, command, error):
        super().__init__(f"{command}: {json.dumps(error)}")
        self.error = error

    def __getattr__(self, name):
        if name in ("code", "status", "message", "retry_after_ms", "errors", "request_id"):
            return self.error.get(name)
        raise AttributeError(name)

    @property
    def class_name(self):
        return self.error.get("class")


class Call:
    """A command that was sent."""

    def __init__(self, text):
        self.text = text
        self.sent_at = time.monotonic()
        self.answer = None
        self.answered_at = None
        self.came = threading.Event()

    def result(self, timeout_s=ANSWER_S):
        """Waits for the answer and returns its `ok`. Raises Refused if it is an error."""
        if not self.came.wait(timeout_s):
            raise Failure(f"no answer within {timeout_s} s to {self.text}")
        if self.answer is None:
            raise Failure(f"the program ended before it answered {self.text}")
        if "error" in self.answer:
            raise Refused(self.text, self.answer["error"])
        return self.answer["ok"]

    @property
    def took_s(self):
        return self.answered_at - self.sent_at


class Program:
    """One process. A wait that times out raises a Failure that says what was awaited."""

    def __init__(self, command, env=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
        environment.update(env or {})
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.events = []  # each with `at`, when it was read
        self.pauses = []  # [from, to] of each pause of the process
        self.faults = []  # invalid output
        self._news = threading.Condition()
        self._calls = {}
        self._next_id = 0
        self._ended = False
        self._stderr = b""
        self._readers = [threading.Thread(target=target, daemon=True) for target in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self):
        return self.process.pid

    @property
    def stderr(self):
        return self._stderr.decode(errors="replace")

    # Commands.

    def send(self, do, /, **members):
        """Sends the command `do` and returns its Call at once."""
        with self._news:
            self._next_id += 1
            said = {"id": self._next_id, "do": do, **members}
            line = json.dumps(said) + "\n"
            call = Call(line.strip()[:400])
            self._calls[self._next_id] = call
            if self._ended:
                call.came.set()
                return call
            try:
                self.process.stdin.write(line.encode())
                self.process.stdin.flush()
            except OSError as error:
                raise Failure(f"the program takes no more commands ({error}): {call.text}") from error
        return call

    def do(self, command, /, timeout_s=ANSWER_S, **members):
        """Sends a command and returns the `ok` of its answer. Raises Refused."""
        return self.send(command, **members).result(timeout_s)

    def refuse(self, command, /, timeout_s=ANSWER_S, **members):
        """Sends a command that must fail, and returns the Refused."""
        call = self.send(command, **members)
        try:
            value = call.result(timeout_s)
        except Refused as refused:
            return refused
        raise Failure(f"{call.text} was to fail, and gave {shown(value)}")

    # Events.

    def seen(self, event, **members):
        """The events with this name and these members that the program wrote before this
        call.
        """
        self.settle()
        with self._news:
            return [each for each in self.events if _fits(each, event, members)]

    def settle(self):
        """Waits until its output so far is read, by waiting for the answer to a command."""
        stopped = self.pauses and self.pauses[-1][1] is None
        if self.process.poll() is None and not stopped and not self.process.stdin.closed:
            with contextlib.suppress(Failure):
                self.send("hello").came.wait(SETTLE_S)

    def await_event(self, event, timeout_s=EVENT_S, count=1, **members):
        """Waits for the `count`-th event of this name with these members, and returns it."""
        deadline = time.monotonic() + timeout_s
        while True:
            with self._news:
                fitting = [each for each in self.events if _fits(each, event, members)]
                if len(fitting) >= count:
                    return fitting[count - 1]
                left = deadline - time.monotonic()
                if left > 0 and not self._ended:
                    self._news.wait(left)
                    continue
            what = f"{count} events" if count > 1 else "an event"
            why = "before the program ended" if self._ended else f"within {timeout_s} s"
            raise Failure(f"{what} {shown({'event': event, **members})} did not come {why}; {len(fitting)} came")

    # The process.

    def pause(self):
        self.pauses.append([time.monotonic(), None])
        for pid in self._tree():
            os.kill(pid, signal.SIGSTOP)

    def go_on(self):
        for pid in self._tree():
            os.kill(pid, signal.SIGCONT)
        self.pauses[-1][1] = time.monotonic()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        for pid in self._tree():
            os.kill(pid, signal.SIGKILL)
        self.process.wait(END_S)

    def await_end(self, timeout_s=END_S):
        """Waits for the process's end and returns its exit status."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Failure(f"the program did not end within {timeout_s} s") from None
        for reader in self._readers:
            reader.join(2)
        return status

    def end(self, timeout_s=END_S):
        """Ends its input and waits for its end. Returns its exit status."""
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has ended
        return self.await_end(timeout_s)

    def close(self):
        """Ends it in any state."""
        if self.process.poll() is None:
            self.kill()
        for reader in self._readers:
            reader.join(2)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass

    def cpu_s(self):
        """The processor time that it and its running children have used."""
        ticks = 0
        for pid in self._tree():
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _tree(self):
        """The process and its descendants, as a launcher may be between."""
        pids, found = [self.pid], []
        while pids:
            pid = pids.pop()
            found.append(pid)
            try:
                with open(f"/proc/{pid}/task/{pid}/children") as file:
                    pids += map(int, file.read().split())
            except OSError:
                pass
        return found

    def _read(self):
        for line in self.process.stdout:
            try:
                said = json.loads(line)
                assert isinstance(said, dict)
            except (ValueError, AssertionError):
                self.faults.append(f"its output has a line that is no JSON object: {line[:300]!r}")
                continue
            with self._news:
                self._take(said)
                self._news.notify_all()
        with self._news:
            self._ended = True
            for call in self._calls.values():
                call.came.set()
            self._news.notify_all()

    def _take(self, said):
        if "id" in said and "event" not in said:
            call = self._calls.get(said["id"])
            if call is None or call.answer is not None:
                self.faults.append(f"it answered what nobody asked, or twice: {shown(said)}")
                return
            if ("ok" in said) == ("error" in said):
                self.faults.append(f"an answer has either `ok` or `error`: {shown(said)}")
            call.answer, call.answered_at = said, time.monotonic()
            call.came.set()
        elif "event" in said:
            self.events.append({**said, "at": time.monotonic()})
        else:
            self.faults.append(f"it wrote what is no answer and no event: {shown(said)}")

    def _read_errors(self):
        for line in self.process.stderr:
            self._stderr = (self._stderr + line)[-KEPT_STDERR:]


def _fits(said, event, members):
    return said["event"] == event and all(said.get(name) == value for name, value in members.items())
