package dev.millrace;

import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;

/**
 * The handlers of job types, and the middleware around them. Each worker has one. An application
 * whose handlers also run in a {@link Fake} can share one with both. Add all handlers before the
 * worker starts.
 */
public final class Handlers {
  private record Bound<P, R>(JobType<P, R> type, Handler<P, R> handler) {
    Object call(Execution context) throws Exception {
      return handler.handle(payloadOf(context), context);
    }

    private P payloadOf(Execution context) {
      try {
        return context.job().payload().as(type.payloadType());
      } catch (CodecException misfit) {
        Type wanted = type.payloadType();
        String name = wanted instanceof Class<?> one ? one.getSimpleName() : wanted.getTypeName();
        throw new CodecException("the payload is no " + name + ": " + misfit.getMessage(), misfit);
      }
    }
  }

  private final Map<String, Bound<?, ?>> byType = new LinkedHashMap<>();
  private final List<Middleware> middleware = new ArrayList<>();

  /** Creates an empty set of handlers. */
  public Handlers() {}

  /**
   * Attaches a handler whose jobs have a result.
   *
   * @param <P> the payload
   * @param <R> the result
   * @param type the type of the jobs
   * @param handler the handler
   * @return this
   * @throws IllegalArgumentException if the type has a handler already
   */
  public <P, R> Handlers handle(JobType<P, R> type, Handler<P, R> handler) {
    if (byType.putIfAbsent(type.name(), new Bound<>(type, handler)) != null) {
      throw new IllegalArgumentException("two handlers for the type " + type.name());
    }
    return this;
  }

  /**
   * Attaches a handler whose jobs have no result.
   *
   * @param <P> the payload
   * @param type the type of the jobs
   * @param handler the handler
   * @return this
   * @throws IllegalArgumentException if the type has a handler already
   */
  public <P> Handlers consume(JobType<P, ?> type, Handler.NoResult<P> handler) {
    return handle(
        type,
        (payload, context) -> {
          handler.handle(payload, context);
          return null;
        });
  }

  /**
   * Wraps all handlers. The middleware added first is the outermost.
   *
   * @param wrapper the middleware
   * @return this
   */
  public Handlers middleware(Middleware wrapper) {
    middleware.add(wrapper);
    return this;
  }

  /**
   * Returns the types that have a handler.
   *
   * @return their names
   */
  public Set<String> types() {
    return Set.copyOf(byType.keySet());
  }

  Object call(Execution context) throws Exception {
    Bound<?, ?> bound = byType.get(context.job().type());
    if (bound == null) throw new NonRetryable("no handler for the type " + context.job().type());
    return call(context, bound, 0);
  }

  private Object call(Execution context, Bound<?, ?> bound, int wrapper) throws Exception {
    if (wrapper == middleware.size()) return bound.call(context);
    Callable<Object> next = () -> call(context, bound, wrapper + 1);
    return middleware.get(wrapper).handle(context, next);
  }
}
