"""The conditions that figures depend on: the machine, its disk, its load."""

import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

PROBES = 200
IDLE_LOAD = 0.5


def file_system(folder):
    run = subprocess.run(
        ["stat", "--file-system", "--format=%T", str(folder)], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def refuse_memory_disk(parent):
    folder = parent or tempfile.gettempdir()
    if file_system(folder) in ("tmpfs", "ramfs"):
        sys.exit(f"{folder} is memory, where a sync costs nothing: name a folder on a disk with --data DIR")


def sync_ms(parent):
    """The median time of appending 4 KiB with fdatasync."""
    times = []
    with tempfile.NamedTemporaryFile(dir=parent) as file:
        for _ in range(PROBES):
            begin = time.perf_counter()
            os.write(file.fileno(), b"x" * 4096)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return round(sorted(times)[PROBES // 2] * 1e3, 3)


def facts(parent):
    cpu = [
        line.split(":", 1)[1].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    memory_kib = int(pathlib.Path("/proc/meminfo").read_text().split(None, 2)[1])
    return {
        "cpu": cpu[0] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory_kib / 2**20, 1),
        "kernel": platform.release(),
        "file_system": file_system(parent or tempfile.gettempdir()),
        "sync_ms": sync_ms(parent),
        "load_at_start": [round(load, 2) for load in os.getloadavg()],
    }


def warning(machine):
    """A warning that a reader of the run needs, or None."""
    if machine["load_at_start"][0] > IDLE_LOAD:
        return (
            f"The machine was busy with other work when the run began (load {machine['load_at_start'][0]}): "
            "the figures are no measure of anything."
        )
    return None
