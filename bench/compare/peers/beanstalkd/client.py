"""beanstalkd: commands are sent in windows of a batch before their answers are read, one connection that puts and one
that reserves and deletes."""

import json
import socket
import sys

TIME_TO_RUN_S = 600


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", buffering=1 << 16)

    def lines(self, commands, count, word):
        """Sends the commands and reads as many lines, which must begin with the word."""
        self.socket.sendall(commands)
        for _ in range(count):
            line = self.file.readline()
            if not line.startswith(word):
                raise RuntimeError(f"beanstalkd answered {line!r}")

    def reserve(self, count):
        """The ids of as many jobs, as bytes."""
        self.socket.sendall(b"reserve\r\n" * count)
        ids = []
        for _ in range(count):
            word, job, length = self.file.readline().split()
            if word != b"RESERVED":
                raise RuntimeError(f"beanstalkd answered {word!r}")
            self.file.read(int(length) + 2)
            ids.append(job)
        return ids


def windows(jobs, batch):
    while jobs > 0:
        yield min(batch, jobs)
        jobs -= batch


def produce(connection, jobs, batch, payload):
    put = b"put 0 0 %d %d\r\n%b\r\n" % (TIME_TO_RUN_S, payload, b"x" * payload)
    for count in windows(jobs, batch):
        connection.lines(put * count, count, b"INSERTED")
    return jobs


def work(connection, jobs, batch, _payload):
    done = 0
    for count in windows(jobs, batch):
        ids = connection.reserve(count)
        connection.lines(b"".join(b"delete %b\r\n" % job for job in ids), count, b"DELETED")
        done += count
    return done


def main(role, *numbers):
    jobs, batch, payload, port = map(int, numbers)
    connection = Connection(port)
    print("ready", flush=True)
    sys.stdin.readline()
    done = {"producer": produce, "worker": work}[role](connection, jobs, batch, payload)
    print(json.dumps({"jobs": done}))


if __name__ == "__main__":
    main(*sys.argv[1:])
