package dev.millrace;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Tells a handler to end, once. The handler's thread is interrupted at the same time; the token is
 * for code that runs in other threads or does not block. Thread-safe.
 */
public final class StopToken {
  private final List<Consumer<StopReason>> observers = new ArrayList<>();
  private final CountDownLatch latch = new CountDownLatch(1);
  private volatile StopReason reason;

  StopToken() {}

  /**
   * Returns why the handler was told to end.
   *
   * @return the reason; null if it was not told
   */
  public StopReason reason() {
    return reason;
  }

  /**
   * Says whether the handler was told to end.
   *
   * @return true once it was told
   */
  public boolean isStopRequested() {
    return reason != null;
  }

  /**
   * Waits until the handler is told to end.
   *
   * @param timeout the longest time to wait
   * @return whether it was told
   * @throws InterruptedException if this thread is interrupted; the handler's own thread is
   *     interrupted when it is told
   */
  public boolean await(Duration timeout) throws InterruptedException {
    return latch.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  /**
   * Calls an observer when the handler is told to end, in a separate thread. If the handler was
   * told already, calls it now, in this thread.
   *
   * @param observer gets the reason; its exceptions are ignored
   */
  public void onStop(Consumer<StopReason> observer) {
    synchronized (observers) {
      if (reason == null) {
        observers.add(observer);
        return;
      }
    }
    observer.accept(reason);
  }

  void tell(StopReason told) {
    List<Consumer<StopReason>> waiting;
    synchronized (observers) {
      if (reason != null) return;
      reason = told;
      waiting = List.copyOf(observers);
      observers.clear();
    }
    latch.countDown();
    // Never in the caller's thread, which maintains the leases of all jobs.
    for (Consumer<StopReason> observer : waiting) {
      try {
        Thread thread = new Thread(() -> observer.accept(told), "millrace-stop");
        thread.setDaemon(true);
        thread.start();
      } catch (OutOfMemoryError noThread) {
        // The handler's thread was interrupted all the same.
      }
    }
  }
}
