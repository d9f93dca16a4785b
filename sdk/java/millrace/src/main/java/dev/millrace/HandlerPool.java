package dev.millrace;

import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A pool of threads for handlers. The worker never has more tasks at a time than its concurrency,
 * which therefore bounds the number of threads. One thread is woken at a time, and each wakes the
 * next while tasks wait, so that a few threads run all tasks that end immediately. An idle thread
 * ends after a while.
 */
final class HandlerPool implements Executor {
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final ThreadFactory factory;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition work = lock.newCondition();
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private int idle;
  private boolean waking;

  HandlerPool(String name) {
    factory =
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          return thread;
        };
  }

  /** Returns an executor of virtual threads if the JVM has them, else a pool. */
  static Executor create(String name) {
    ThreadFactory virtual = virtualThreads(name);
    return virtual == null ? new HandlerPool(name) : task -> virtual.newThread(task).start();
  }

  private static ThreadFactory virtualThreads(String name) {
    try {
      Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
      Class<?> type = Class.forName("java.lang.Thread$Builder");
      Method named = type.getMethod("name", String.class);
      return (ThreadFactory) type.getMethod("factory").invoke(named.invoke(builder, name));
    } catch (ReflectiveOperationException | UnsupportedOperationException before21) {
      return null;
    }
  }

  @Override
  public void execute(Runnable task) {
    lock.lock();
    try {
      tasks.add(task);
      wakeOne();
    } finally {
      lock.unlock();
    }
  }

  private void wakeOne() {
    if (tasks.isEmpty() || waking) return;
    waking = true;
    if (idle > 0) {
      work.signal();
    } else {
      factory.newThread(this::work).start();
    }
  }

  private void work() {
    boolean isNew = true;
    for (; ; ) {
      Runnable task;
      lock.lock();
      try {
        if (isNew) waking = false;
        isNew = false;
        task = next();
        if (task == null) return;
        wakeOne();
      } finally {
        lock.unlock();
      }
      task.run();
    }
  }

  // Returns null after a long time without work.
  private Runnable next() {
    long left = IDLE_NANOS;
    while (tasks.isEmpty()) {
      if (left <= 0) return null;
      idle++;
      try {
        left = work.awaitNanos(left);
      } catch (InterruptedException stray) {
        // The interruption came after the handler had ended.
      } finally {
        idle--;
        waking = false;
      }
    }
    return tasks.remove();
  }
}
