"""Follow a README as a new user would: write its files, run its commands, compare the output.

    python follow_readme.py README.md DIRECTORY

The directory is empty, and the Python that runs this has the package. The text after a block's
language marks it: `file=NAME` is a file, `run` a script, `output` the expected output of the script
before it.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys

from support import BINARY, clean_environment, free_port

BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write_file(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def write_files(readme: str, home: pathlib.Path) -> None:
    """Write all files of a README."""
    for _, mark, body in BLOCK.findall(readme):
        if mark.startswith("file="):
            write_file(home / mark[len("file=") :], body)


class Follower:
    def __init__(self, home: pathlib.Path) -> None:
        self.home = home
        bin_ = home.parent / "bin"
        bin_.mkdir(exist_ok=True)
        (bin_ / "millrace").symlink_to(pathlib.Path(BINARY).resolve())
        address = f"127.0.0.1:{free_port()}"
        path = os.pathsep.join([str(bin_), str(pathlib.Path(sys.executable).parent)])
        self.env = {
            **clean_environment(),
            "PATH": path + os.pathsep + os.environ["PATH"],
            "MILLRACE_LISTEN": address,
            "MILLRACE_URL": f"http://{address}",
        }
        self.groups: list[int] = []
        self.printed = ""

    def follow(self, text: str) -> None:
        for language, mark, body in BLOCK.findall(text):
            if mark.startswith("file="):
                write_file(self.home / mark[len("file=") :], body)
            elif mark == "run":
                self.run(body)
            elif mark == "output":
                assert self.printed == body, f"printed:\n{self.printed}\nexpected:\n{body}"
            elif language == "python":
                compile(body.replace("[...]", "[]"), "README.md", "exec")

    def run(self, script: str) -> None:
        output, errors = self.home / "output", self.home / "errors"
        with output.open("wb") as out, errors.open("wb") as err:
            shell = subprocess.Popen(
                ["bash", "-euc", script],
                cwd=self.home,
                env=self.env,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.groups.append(shell.pid)
        status = shell.wait(timeout=300)
        self.printed = output.read_text()
        assert status == 0, f"status {status} of:\n{script}\n{errors.read_text()}"

    def close(self) -> None:
        for group in reversed(self.groups):
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                pass


def main() -> None:
    readme, home = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    follower = Follower(home)
    try:
        follower.follow(readme.read_text())
        follower.run("python aio.py")
        assert follower.printed == "20\n", follower.printed
        follower.run(
            "python -c 'import videos\n"
            "from millrace.testing import Fake\n"
            "with Fake(videos.app) as fake:\n"
            '    job = videos.encode.submit(path="a")\n'
            "    assert fake.drain() == 1\n"
            '    assert fake.get(job.id, include=["result"]).result == {"frames": 100}\n'
            '    assert len(fake.enqueued("video.publish")) == 1\''
        )
        follower.run(
            "python -c 'import datetime, shop, uuid\n"
            "from millrace.testing import Fake\n"
            "at = datetime.datetime(2030, 3, 1, tzinfo=datetime.timezone.utc)\n"
            "with Fake(shop.app) as fake:\n"
            '    job = shop.ship.submit(shop.Order(uuid.UUID(int=1), at, ["nut"]))\n'
            "    assert fake.drain() == 1\n"
            '    result = fake.get(job.id, include=["result"]).result\n'
            '    assert (result["items"], result["year"]) == (1, 2030), result\''
        )
        follower.run(
            "python -c 'import catalogue, nightly, order\n"
            "from millrace.testing import Fake\n"
            "with Fake(catalogue.app) as fake:\n"
            '    made = catalogue.publish(["a.jpg", "b.jpg"])\n'
            "    assert fake.drain() == 3\n"
            '    (last,) = fake.enqueued("catalogue.make")\n'
            '    assert last.result == "Spring"\n'
            "with Fake(nightly.app) as fake:\n"
            '    made = nightly.begin("monday")\n'
            "    assert fake.drain() == 3\n"
            '    assert nightly.app.wait_workflow(made).result == "600 rows"\n'
            "made = order.order(17)\n"
            "assert order.order(17) == made\n"
            'assert order.withdraw(made) == "cancelled"\''
        )
        for wanted in ("new\nnew\n", "known\nknown\n"):
            follower.run("python remind.py")
            assert follower.printed == wanted, follower.printed
        follower.run("python setup.py && python setup.py && python limited.py")
        follower.run(
            "python -c 'from jobs import app, send\n"
            'app.wait(send.submit(to="nobody").id, timeout=60)\''
        )
        follower.run("python look.py")
        assert follower.printed == "email.send nobody is no address\n1\n", follower.printed
    finally:
        follower.close()
    print("the README works as it says")


if __name__ == "__main__":
    main()
