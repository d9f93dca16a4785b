"""Ids of jobs: UUIDv7 with the bits of the queue, so that a server of many shards finds the job."""

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
    """The first 12 bits of the SHA-256 of a queue's name."""
    return int.from_bytes(hashlib.sha256(queue.encode()).digest()[:2], "big") >> 4


def make_id(queue: str = "default") -> str:
    """A new id for a job of this queue. Ids of one process are never the same twice, and rise.

    A submission that carries one can be sent again after a lost answer without making a second
    job. Any thread may call this, also after a fork.
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
    """A child must neither wait for a lock that no thread of its own holds nor count on alike."""
    global _lock, _last
    _lock = threading.Lock()
    # A counter that goes on from the parent's would meet the parent's next ids.
    _last = (_last >> _RANDOM_BITS) + 1 << _RANDOM_BITS | _random_bits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
