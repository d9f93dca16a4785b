package dev.millrace;

import java.util.concurrent.Callable;

/**
 * Wraps every handler. It runs in the handler's thread.
 *
 * <pre>{@code
 * worker.middleware((ctx, next) -> {
 *   long begin = System.nanoTime();
 *   try {
 *     return next.call();
 *   } finally {
 *     timer.record(ctx.job().type(), System.nanoTime() - begin);
 *   }
 * });
 * }</pre>
 */
@FunctionalInterface
public interface Middleware {
  /**
   * Runs the next middleware or the handler, and may change its result.
   *
   * @param context the job
   * @param next returns the handler's result, or throws its exception
   * @return the result or {@link Outcome}
   * @throws Exception if the attempt has failed
   */
  Object handle(JobContext context, Callable<Object> next) throws Exception;
}
