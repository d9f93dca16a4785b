"""Attacks on a server under load, by name as the faults: clients that leave, that do not read, that
request everything, that use ten thousand names, that hold the wrong token. Each runs in its own
process (attacker.py), beside producers and workers whose history is checked.

While an attack runs, the server's resident memory must stay within its budget and ALLOWANCE_MIB, and
a claim's p99 within twice its value before the attack, or LATENCY_MS. Both are figures of the run.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import faults
from rig import SERVE, Trouble, harness

HERE = pathlib.Path(__file__).parent
BUDGET_MIB = 256
# Memory of the program, its libraries and its connections beyond the budget. Each of eight
# connections to PostgreSQL keeps up to 16 MiB of sent data.
ALLOWANCE_MIB = 64 if harness.STORE == "sqlite" else 96
LATENCY_MS = 50
QUIET_S = 3
ATTACK_S = 8
CLEAN_UP_TIMEOUT_S = 100
# The queues that an attacker's token may use; none of them is in the history.
PREFIX = "hostile."
SCOPES = ("submit", "work", "read", "operate")


def make_servers(count=1):
    """Makes the nodes of one store with a memory budget, and tokens for clients and a limited attacker."""
    everything, clients = new_token("clients", *SCOPES, "admin")
    limited, attacker = new_token("attacker", *SCOPES, queue=PREFIX + "*")
    return [make_server(clients + attacker, everything, limited) for _ in range(count)]


def make_server(config, token, attackers_token):
    server = harness.Server(*SERVE, "--memory", f"{BUDGET_MIB}MiB", config=config, token=token)
    server.attackers_token = attackers_token
    server.archive = None
    if harness.STORE == "sqlite":
        server.archive = server.home / "archive"
        server.args += ["--archive", str(server.archive), "--archive-every", "1s"]
    return server


def new_token(name, *scopes, queue=None):
    """(token, its lines of the configuration)."""
    words = [word for scope in scopes for word in ("--scope", scope)]
    made = harness.run("token", "new", "--name", name, *words, *(["--queue", queue] if queue else []))
    block = made.stdout[made.stdout.index("[[tokens]]") :].splitlines()
    lines = [line for line in block if line.startswith("[[tokens]]") or re.match(r"\s*\w+ *= ", line)]
    return re.search(r"\bmlr_\w+", made.stdout)[0], "\n".join(lines) + "\n"


class Watch(threading.Thread):
    """Measures the maximum resident memory of the server while this runs."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.status = pathlib.Path(f"/proc/{server.process.pid}/status")
        self.over = threading.Event()
        self.peak_mib = 0
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            try:
                text = self.status.read_text()
            except OSError:
                return
            if found := re.search(r"VmRSS:\s+(\d+)", text):
                self.peak_mib = max(self.peak_mib, int(found[1]) // 1024)

    def stop(self):
        self.over.set()
        self.join()
        return self.peak_mib


def spawn(rig, name, seconds):
    return subprocess.Popen(
        [
            sys.executable,
            "-B",
            str(HERE / "attacker.py"),
            name,
            f"--at={rig.server.host}:{rig.server.port}",
            f"--token={rig.server.token}",
            f"--limited={rig.server.attackers_token}",
            f"--seed={rig.dice.randrange(1 << 30)}",
            f"--seconds={seconds}",
            *([f"--archive={rig.server.archive}"] if rig.server.archive else []),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MILLRACE_BIN": harness.BINARY},
    )


def claims_p99_ms(process):
    text, _ = process.communicate(timeout=CLEAN_UP_TIMEOUT_S)
    if process.returncode != 0:
        raise RuntimeError("the probe of claims failed")
    return json.loads(text)["p99_ms"]


def attack(name):
    def run(rig):
        quiet = claims_p99_ms(spawn(rig, "probe", QUIET_S))
        watch = Watch(rig.server)
        attacker = spawn(rig, name, ATTACK_S)
        probe = spawn(rig, "probe", ATTACK_S)
        busy = claims_p99_ms(probe)
        said, _ = attacker.communicate(timeout=ATTACK_S + CLEAN_UP_TIMEOUT_S)
        peak = watch.stop()
        rig.must_live(name)
        rig.note(f"{name}: claims' p99 {quiet:.1f} ms before, {busy:.1f} ms meanwhile; {peak} MiB")
        rig.figures["claims' p99 at most, ms"] = max(rig.figures["claims' p99 at most, ms"], round(busy))
        rig.figures["memory at most, MiB"] = max(rig.figures["memory at most, MiB"], peak)
        if attacker.returncode != 0:
            raise Trouble(f"{name}: {said.strip()}")
        if peak > BUDGET_MIB + ALLOWANCE_MIB and not harness.is_sanitized():
            raise Trouble(f"{name}: {peak} MiB resident, with a budget of {BUDGET_MIB}")
        if rig.judges_latency and busy > max(2 * quiet, LATENCY_MS):
            raise Trouble(f"{name}: a claim's p99 is {busy:.1f} ms, {quiet:.1f} before")

    return run


def disk_full(rig):
    faults.FAULTS_OF_SQLITE["disk-full"](rig)


def small_disk(rig):
    if harness.STORE != "sqlite":
        raise faults.Skipped("the database's disk is filled by --nodes 3 --only disk-full")
    faults.PREPARE["disk-full"](rig)


ATTACKS = (
    "abandoned-reads",
    "slow-readers",
    "huge-pages",
    "many-names",
    "wrong-tokens",
    "log-flood",
    "garbage",
    "ending-tokens",
    "silent-streams",
    "endless-keys",
    "moving-operations",
    "schedules-in-masses",
    *(["damaged-backups"] if harness.STORE == "sqlite" else []),
)
FAULTS = {**{name: attack(name) for name in ATTACKS}, "disk-full": disk_full}
PREPARE = {"disk-full": small_disk}
COMPANIONS = ATTACKS
