"""An attack on what a server leaves on disk: a backup and an archive, taken under load, damaged in
one place and restored. See attacker.py.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

# Of a sound backup; on a busier machine nothing is judged. A damaged one may take as long once more.
RESTORE_TIMEOUT_S = 40
WORTH_DAMAGE = ("*.rows", "archive", "*.db", "millrace.store")


def flip_a_bit(path, dice):
    with path.open("r+b") as file:
        file.seek(dice.randrange(path.stat().st_size))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ (1 << dice.randrange(8))]))


def cut(path, dice):
    os.truncate(path, dice.randrange(path.stat().st_size))


def append(path, dice):
    with path.open("ab") as file:
        file.write(dice.randbytes(dice.choice((1, 100, 5_000))))


def put_a_fifo(path, _):
    path.unlink()
    os.mkfifo(path)


def put_a_directory(path, _):
    path.unlink()
    path.mkdir()


WAYS = (flip_a_bit, flip_a_bit, cut, append, put_a_fifo, put_a_directory, lambda path, _: path.unlink())


class AttacksOnFiles:
    def damaged_backups(self):
        """Backups and archives with one damage. A restore ends soon: with an error that tells why,
        or with what an undamaged restore gives, since not every file is needed.
        """
        with tempfile.TemporaryDirectory(prefix="millrace-damaged-") as folder:
            home = pathlib.Path(folder)
            sound = {"backup": home / "backup", "archive": home / "archive"}
            status, answer = self.call("POST", "/v1/admin/backup", {"path": str(sound["backup"])}, timeout_s=60)
            if status in (0, 503):
                return  # on a machine that is too busy, nothing is judged
            if status != 200:
                raise self.Leak(f"damaged-backups: the backup is answered with {status}: {answer}")
            time.sleep(1.5)  # so that the archive has rows that the backup has not
            self.copy_archive(sound["archive"])
            try:
                should = self.restored(home, sound, RESTORE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                return
            if should[0] != 0:
                raise self.Leak(f"damaged-backups: a sound backup is not restored: {should[1]}")
            while self.goes_on():
                self.restore_one(home, sound, should)

    def copy_archive(self, to):
        """As the guide says, since the server writes to it: first what tells the end."""
        to.mkdir()
        shutil.copy(pathlib.Path(self.archive) / "archive", to)
        for file in sorted(pathlib.Path(self.archive).glob("*.rows")):
            shutil.copy(file, to)

    def restore_one(self, home, sound, should):
        damaged = {part: home / f"damaged-{part}" for part in sound}
        for part, copy in damaged.items():
            shutil.copytree(sound[part], copy)
        files = [
            path
            for copy in damaged.values()
            for kind in WORTH_DAMAGE
            for path in sorted(copy.glob(kind))
            if path.stat().st_size > 0
        ]
        path, way = self.dice.choice(files), self.dice.choice(WAYS)
        way(path, self.dice)
        what = f"damaged-backups: {path.relative_to(home)} after {way.__name__}"
        try:
            is_ = self.restored(home, damaged, 2 * RESTORE_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise self.Leak(f"{what}: no end within {2 * RESTORE_TIMEOUT_S} s") from error
        if is_[0] not in (0, 1, 65, 78) or (is_[0] != 0 and not is_[1].strip()):
            raise self.Leak(f"{what}: exit code {is_[0]}: {is_[1]}")
        if is_[0] == 0 and is_ != should:
            raise self.Leak(f"{what}: restored, with another result:\n{is_[1]}\nshould be\n{should[1]}")
        for copy in damaged.values():
            shutil.rmtree(copy)

    def restored(self, home, parts, timeout_s):
        """(exit code, what the restore says of its result)."""
        target = home / "restored"
        done = subprocess.run(
            [self.program, "admin", "restore", "--backup", parts["backup"], "--archive", parts["archive"],
             "--to", target],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )  # fmt: skip
        shutil.rmtree(target, ignore_errors=True)
        return done.returncode, done.stdout
