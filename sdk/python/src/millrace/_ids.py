"""Ids of jobs: UUIDv7 with bits of the queue's name, by which a server finds the job's shard."""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import time

_RANDOM_BITS = 62
_lock = threading.Lock()
_last = 0  # the millisecond and the random part of the newest id


@functools.lru_cache(maxsize=1024)
def queue_bits(queue: str) -> int:
    """Return the first 12 bits of the SHA-256 of a queue's name."""
    return int.from_bytes(hashlib.sha256(queue.encode()).digest()[:2], "big") >> 4


def make_id(queue: str = "default") -> str:
    """Return a new id for a job of this queue. The ids of one process are unique and rise.

    A submission with an id can be sent again after a lost answer without creating a second job.
    Thread-safe, and safe after a fork.
    """
    global _last
    fresh = time.time_ns() // 1_000_000 << _RANDOM_BITS | _random_bits()
    with _lock:
        # Within a millisecond, or if the clock was set back, count on.
        _last = fresh if fresh > _last else _last + 1
        number = _last
    millisecond, random = number >> _RANDOM_BITS, number & (1 << _RANDOM_BITS) - 1
    bits = millisecond << 80 | 0x7 << 76 | queue_bits(queue) << 64 | 0x2 << 62 | random
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _random_bits() -> int:
    return int.from_bytes(os.urandom(8), "big") >> 2


def _after_fork() -> None:
    """Reset the lock, which no thread of the child holds, and the counter, after a fork."""
    global _lock, _last
    _lock = threading.Lock()
    # A counter that continued the parent's would produce the parent's next ids.
    _last = (_last >> _RANDOM_BITS) + 1 << _RANDOM_BITS | _random_bits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
