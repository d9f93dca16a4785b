package dev.millrace;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Tells a handler to end, once. Its thread is interrupted at the same time; the token is for code
 * that runs elsewhere or does not wait. Safe for many threads.
 */
public final class StopToken {
  private final List<Consumer<Told>> observers = new ArrayList<>();
  private final CountDownLatch latch = new CountDownLatch(1);
  private volatile Told reason;

  StopToken() {}

  /**
   * Why the handler was told.
   *
   * @return the reason; null if it was not told
   */
  public Told reason() {
    return reason;
  }

  /**
   * Whether the handler was told.
   *
   * @return true from then on
   */
  public boolean isTold() {
    return reason != null;
  }

  /**
   * Waits until the handler is told.
   *
   * @param timeout how long to wait at most
   * @return whether it was told
   * @throws InterruptedException if this thread is interrupted; the handler's own is when it is
   *     told
   */
  public boolean await(Duration timeout) throws InterruptedException {
    return latch.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  /**
   * Runs something when the handler is told, in a thread of its own; or now, in this thread, if it
   * was told already.
   *
   * @param observer gets the reason; what it throws is lost
   */
  public void onTold(Consumer<Told> observer) {
    synchronized (observers) {
      if (reason == null) {
        observers.add(observer);
        return;
      }
    }
    observer.accept(reason);
  }

  void tell(Told told) {
    List<Consumer<Told>> waiting;
    synchronized (observers) {
      if (reason != null) return;
      reason = told;
      waiting = List.copyOf(observers);
      observers.clear();
    }
    latch.countDown();
    // Never in the caller's thread: it keeps the leases of all jobs.
    for (Consumer<Told> observer : waiting) {
      Thread thread = new Thread(() -> observer.accept(told), "millrace-told");
      thread.setDaemon(true);
      thread.start();
    }
  }
}
