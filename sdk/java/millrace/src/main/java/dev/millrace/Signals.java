package dev.millrace;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Stops a program's workers when the process is told to end: gracefully at the first SIGTERM or
 * SIGINT, at once at the second. If the JVM does not deliver signals, or the program calls {@code
 * System.exit}, a shutdown hook stops them.
 */
final class Signals implements AutoCloseable {
  private static final String[] NAMES = {"TERM", "INT"};

  // Guarded by the class.
  private static final Set<Signals> RUNNING = new LinkedHashSet<>();
  private static final Map<String, Object> PREVIOUS = new HashMap<>();
  private static boolean isTold;

  private final Worker worker;
  private final Thread hook;

  private Signals(Worker worker) {
    this.worker = worker;
    hook = new Thread(this::stopAndWait, "millrace-stop");
  }

  static Signals stop(Worker worker) {
    Signals signals = new Signals(worker);
    synchronized (Signals.class) {
      if (RUNNING.isEmpty()) {
        isTold = false;
        for (String name : NAMES) PREVIOUS.put(name, handle(name, handler()));
      }
      RUNNING.add(signals);
    }
    Runtime.getRuntime().addShutdownHook(signals.hook);
    return signals;
  }

  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      // The hook has stopped the worker.
    }
    synchronized (Signals.class) {
      RUNNING.remove(this);
      if (!RUNNING.isEmpty()) return;
      PREVIOUS.forEach(
          (name, handler) -> {
            if (handler != null) handle(name, handler);
          });
      PREVIOUS.clear();
    }
  }

  private void stopAndWait() {
    try {
      worker.stop();
    } catch (MillraceException ended) {
      // The thread that runs the worker throws it.
    }
  }

  private static synchronized void told() {
    for (Signals signals : RUNNING) {
      if (isTold) {
        signals.worker.endGrace();
      } else {
        signals.worker.requestStop();
      }
    }
    isTold = true;
  }

  // Signals come from a module that a JVM may lack.

  private static Object handler() {
    try {
      Class<?> type = Class.forName("sun.misc.SignalHandler");
      InvocationHandler call =
          (proxy, method, arguments) ->
              switch (method.getName()) {
                case "handle" -> {
                  told();
                  yield null;
                }
                case "equals" -> proxy == arguments[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> "millrace";
              };
      return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, call);
    } catch (ClassNotFoundException absent) {
      return null;
    }
  }

  // Returns the previous handler; null if signals are not available.
  private static Object handle(String name, Object handler) {
    if (handler == null) return null;
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handlers = Class.forName("sun.misc.SignalHandler");
      Method handle = signal.getMethod("handle", signal, handlers);
      return handle.invoke(null, signal.getConstructor(String.class).newInstance(name), handler);
    } catch (ReflectiveOperationException | IllegalArgumentException notHere) {
      return null;
    }
  }
}
