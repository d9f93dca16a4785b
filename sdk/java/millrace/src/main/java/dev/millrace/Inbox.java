package dev.millrace;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Events that other threads post for the worker's own thread, which runs them in order. An event
 * may name an instant before which it does not wake that thread, so that handlers that end together
 * cost one wake-up.
 */
final class Inbox {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition posted = lock.newCondition();
  private ArrayDeque<Runnable> events = new ArrayDeque<>();
  private ArrayDeque<Runnable> spare = new ArrayDeque<>();
  private long earliest = Clock.NEVER; // of the waiting events
  private long sleepsUntil = Long.MIN_VALUE; // MIN_VALUE: is awake

  void post(Runnable event) {
    post(event, 0);
  }

  void post(Runnable event, long wakeBy) {
    lock.lock();
    try {
      events.add(event);
      earliest = Math.min(earliest, wakeBy);
      if (wakeBy < sleepsUntil) {
        sleepsUntil = wakeBy;
        posted.signal();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Runs the events posted so far. */
  void runAll() {
    ArrayDeque<Runnable> batch;
    lock.lock();
    try {
      batch = events;
      events = spare;
      earliest = Clock.NEVER;
    } finally {
      lock.unlock();
    }
    for (Runnable event; (event = batch.poll()) != null; ) event.run();
    spare = batch;
  }

  /** Sleeps until an instant, or until an event needs to run. */
  void sleep(long until) {
    lock.lock();
    try {
      for (; ; ) {
        long due = Math.min(until, earliest);
        long left = due - Clock.now();
        if (left <= 0) return;
        sleepsUntil = due;
        if (due == Clock.NEVER) {
          posted.awaitUninterruptibly();
        } else {
          posted.await(left, TimeUnit.NANOSECONDS);
        }
      }
    } catch (InterruptedException stray) {
      // Nothing should interrupt this thread; it just looks for due work.
    } finally {
      sleepsUntil = Long.MIN_VALUE;
      lock.unlock();
    }
  }
}
