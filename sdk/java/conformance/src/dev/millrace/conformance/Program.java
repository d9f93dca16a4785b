package dev.millrace.conformance;

import dev.millrace.ClientBuilder;
import dev.millrace.Fake;
import dev.millrace.Handlers;
import dev.millrace.Job;
import dev.millrace.JobFilter;
import dev.millrace.JobType;
import dev.millrace.Jobs;
import dev.millrace.Json;
import dev.millrace.MillraceClient;
import dev.millrace.MillraceException;
import dev.millrace.Page;
import dev.millrace.Submitted;
import dev.millrace.Worker;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** The program of the conformance suite: reads commands, writes answers and events, one a line. */
public final class Program {
  record Command(
      Json id,
      @dev.millrace.JsonName("do") String name,
      String url,
      String token,
      Duration timeout,
      Duration queueFullTimeout,
      String caFile,
      String fake,
      Json job,
      List<Json> jobs,
      Boolean atomic,
      Json include,
      Shapes.Filter filter,
      Integer limit,
      String cursor,
      String reason,
      @dev.millrace.JsonName("name") String of,
      String queue,
      Map<String, Json> settings,
      Boolean force,
      Json ifMatch,
      Shapes.Spec spec,
      String managedBy,
      List<String> queues,
      List<String> types,
      Integer concurrency,
      Duration lease,
      Duration pollWait,
      Duration grace,
      @dev.millrace.JsonName("version") String program,
      Boolean middleware,
      String type,
      Long ms,
      Json request,
      String state,
      String operation,
      @dev.millrace.JsonName("wait_ms") Duration wait_,
      Duration window,
      Duration step,
      String by,
      String method,
      String path,
      Map<String, Json> query,
      Json body,
      Json workflow,
      String ref,
      String idempotencyKey) {

    String jobId() {
      return job.as(String.class);
    }

    Long version() {
      return ifMatch == null || ifMatch.isNull()
          ? null
          : Long.valueOf(ifMatch.text().replaceAll("[^0-9]", ""));
    }
  }

  private static final OutputStream OUT = new FileOutputStream(FileDescriptor.out);
  private final Map<String, Worker> workers = new ConcurrentHashMap<>();
  private final Map<String, Thread> runs = new ConcurrentHashMap<>();
  private final ExecutorService commands = Executors.newCachedThreadPool(Program::daemon);
  private volatile Jobs client;
  private volatile Fake fake;
  private volatile boolean isTold;
  private SignalHandler ofSdk;

  public static void main(String[] arguments) throws Exception {
    new Program().run();
  }

  private void run() throws Exception {
    Logger root = Logger.getLogger("");
    for (Handler console : root.getHandlers()) root.removeHandler(console);
    Logger.getLogger("dev.millrace").addHandler(new SdkLog());
    Signal.handle(new Signal("TERM"), signal -> System.exit(0));
    Signal.handle(new Signal("INT"), signal -> System.exit(0));
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      if (line.isBlank()) continue;
      Command command = Shapes.read(Json.of(line), Command.class);
      if (command.name().equals("configure")) {
        answer(command); // what follows stands on it
      } else {
        commands.execute(() -> answer(command));
      }
    }
    for (Worker worker : workers.values()) worker.requestStop();
    for (Thread run : runs.values()) run.join();
    commands.shutdown(); // the last command may not be answered yet
    if (!commands.awaitTermination(10, TimeUnit.SECONDS)) System.err.println("a command hangs");
    System.exit(0);
  }

  private void answer(Command command) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("id", command.id());
    try {
      answer.put("ok", carryOut(command));
    } catch (Throwable error) {
      if (!(error instanceof MillraceException)) error.printStackTrace();
      answer.put("error", Shapes.of(error));
    }
    print(answer);
  }

  private Object carryOut(Command c) throws Exception {
    return switch (c.name()) {
      case "hello" -> Map.of("sdk", "java", "version", MillraceClient.version());
      case "configure" -> configure(c);
      case "make_id" -> Map.of("id", MillraceClient.makeId(c.queue()));
      case "submit" -> {
        Submitted made = client.submit(Shapes.read(c.job(), Shapes.JobSpec.class).job());
        yield Map.of("job", Shapes.of(made.job()), "is_new", made.isNew());
      }
      case "submit_batch" -> {
        var jobs = c.jobs().stream().map(j -> Shapes.read(j, Shapes.JobSpec.class).job()).toList();
        boolean atomic = c.atomic() != null && c.atomic();
        var items = atomic ? client.submitAtomically(jobs) : client.submitBatch(jobs);
        yield Map.of("items", items.stream().map(Shapes::of).toList());
      }
      case "get" -> Shapes.of(client.get(c.jobId(), includes(c)));
      case "wait" -> Shapes.of(real().waitFor(c.jobId(), c.timeout()));
      case "list" -> {
        Page<Job> page = client.list(filter(c).cursor(c.cursor()));
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("items", page.items().stream().map(Shapes::of).toList());
        shape.put("next_cursor", page.nextCursor());
        yield shape;
      }
      case "list_all" -> {
        List<String> ids = new ArrayList<>();
        for (Job job : client.listAll(filter(c))) ids.add(job.id());
        yield Map.of("ids", ids);
      }
      case "logs" -> Map.of("items", real().logs(c.jobId()));
      case "cancel" -> Shapes.of(client.cancel(c.jobId(), c.reason()));
      case "retry" -> Shapes.of(client.retry(c.jobId()));
      case "delete" -> {
        real().delete(c.jobId());
        yield Map.of();
      }
      case "worker" -> startWorker(c);
      case "stop" -> {
        Thread run = runs.get(c.of());
        workers.get(c.of()).requestStop();
        run.join();
        yield Map.of();
      }
      case "drain" -> Map.of("ran", fake.drain());
      case "advance" -> {
        fake.advance(Duration.ofMillis(c.ms()));
        yield Map.of();
      }
      case "enqueued" -> Map.of("jobs", fake.enqueued(c.type()).stream().map(Shapes::of).toList());
      default -> {
        if (c.workflow() != null || c.name().contains("workflows")) {
          yield Flows.carryOut(c, client);
        }
        if (fake != null && client == fake) yield declared(c);
        if (c.name().contains("queue")) yield queues(c);
        yield c.name().contains("schedule") ? schedules(c) : Operating.carryOut(c, real());
      }
    };
  }

  /** What a fake takes, too. */
  private Object declared(Command c) {
    return switch (c.name()) {
      case "put_queue" -> client.putQueue(c.of(), Shapes.settings(c.settings()));
      case "put_limit" -> client.putLimit(c.of(), Operating.settings(c.settings()));
      default -> throw new IllegalArgumentException("no such command: " + c.name());
    };
  }

  private Object queues(Command c) {
    return switch (c.name()) {
      case "queues" -> Map.of("items", real().queues());
      case "queue" -> real().queue(c.of());
      case "put_queue" -> real().putQueue(c.of(), Shapes.settings(c.settings()), c.version());
      case "patch_queue" -> real().patchQueue(c.of(), Shapes.settings(c.settings()), c.version());
      case "pause_queue" -> real().pauseQueue(c.of(), c.reason());
      case "resume_queue" -> real().resumeQueue(c.of());
      case "delete_queue" -> {
        real().deleteQueue(c.of(), c.force() != null && c.force());
        yield Map.of();
      }
      default -> throw new IllegalArgumentException("no such command: " + c.name());
    };
  }

  private Object schedules(Command c) {
    return switch (c.name()) {
      case "schedules" ->
          Map.of(
              "items",
              c.managedBy() == null ? real().schedules() : real().schedules(c.managedBy()));
      case "schedule" -> real().schedule(c.of());
      case "put_schedule" -> real().putSchedule(c.of(), c.spec().schedule(), c.version());
      case "delete_schedule" -> {
        real().deleteSchedule(c.of());
        yield Map.of();
      }
      case "pause_schedule" -> real().pauseSchedule(c.of(), c.reason());
      case "resume_schedule" -> real().resumeSchedule(c.of());
      case "trigger_schedule" -> Shapes.of(real().triggerSchedule(c.of()).job());
      case "backfill_schedule" -> real().backfillSchedule(c.of(), c.spec().backfill());
      case "schedule_runs" -> Map.of("items", real().scheduleRuns(c.of()));
      case "preview_schedule" -> real().previewSchedule(c.spec().preview());
      case "apply_schedules" -> real().applySchedules(c.spec().set(c.managedBy()));
      default -> throw new IllegalArgumentException("no such command: " + c.name());
    };
  }

  private Object configure(Command c) {
    if (c.fake() != null) {
      boolean isInline = c.fake().equals("inline");
      fake = isInline ? Fake.inline(handlers(c)) : Fake.drained(handlers(c));
      client = fake;
      return Map.of();
    }
    ClientBuilder builder = MillraceClient.builder();
    if (c.url() != null) builder.url(c.url());
    if (c.token() != null) builder.token(c.token());
    if (c.timeout() != null) builder.timeout(c.timeout());
    if (c.queueFullTimeout() != null) builder.queueFullTimeout(c.queueFullTimeout());
    if (c.caFile() != null) builder.caFile(Path.of(c.caFile()));
    client = builder.build();
    return Map.of();
  }

  private Object startWorker(Command c) throws InterruptedException {
    Worker worker =
        real()
            .worker(
                o -> {
                  if (c.queues() != null) o.queues(c.queues());
                  if (c.concurrency() != null) o.concurrency(c.concurrency());
                  if (c.lease() != null) o.lease(c.lease());
                  if (c.pollWait() != null) o.pollWait(c.pollWait());
                  if (c.grace() != null) o.grace(c.grace());
                  o.version(c.program());
                })
            .handlers(handlers(c));
    Thread run = new Thread(() -> run(c.of(), worker), "worker-" + c.of());
    workers.put(c.of(), worker);
    runs.put(c.of(), run);
    run.start();
    while (!worker.isRunning() && run.isAlive()) Thread.sleep(1);
    noteSignals();
    return Map.of("worker_id", worker.id());
  }

  private Handlers handlers(Command c) {
    Handlers handlers = new Handlers();
    Script script = new Script(() -> client, this::print, c.of());
    List<String> types = c.types() == null ? List.of() : c.types();
    for (String type : types)
      handlers.handle(JobType.of(type, Script.Payload.class, Object.class), script::handle);
    if (c.middleware() == null || !c.middleware()) return handlers;
    return handlers.middleware(
        (ctx, next) -> {
          print(Map.of("event", "middleware", "job", ctx.job().id(), "phase", "before"));
          try {
            return next.call();
          } finally {
            print(Map.of("event", "middleware", "job", ctx.job().id(), "phase", "after"));
          }
        });
  }

  private void run(String name, Worker worker) {
    Map<String, Object> end = new LinkedHashMap<>();
    end.put("event", "worker_ended");
    end.put("worker", name);
    end.put("error", null);
    try {
      worker.run();
    } catch (RuntimeException error) {
      end.put("error", Shapes.of(error));
    }
    print(end);
    workers.remove(name, worker);
    if (isTold && workers.isEmpty()) System.exit(0);
  }

  // The workers handle signals while they run; this notes that one has arrived.
  private synchronized void noteSignals() {
    SignalHandler noting =
        signal -> {
          isTold = true;
          ofSdk.handle(signal);
        };
    SignalHandler old = Signal.handle(new Signal("TERM"), noting);
    Signal.handle(new Signal("INT"), noting);
    if (java.lang.reflect.Proxy.isProxyClass(old.getClass())) ofSdk = old;
  }

  private MillraceClient real() {
    return (MillraceClient) client;
  }

  private static Job.Include[] includes(Command c) {
    return Shapes.read(c.include() == null ? Json.of("[]") : c.include(), Job.Include[].class);
  }

  private static JobFilter filter(Command c) {
    JobFilter filter = c.filter() == null ? JobFilter.all() : c.filter().filter();
    return c.limit() == null ? filter : filter.limit(c.limit());
  }

  private void print(Map<String, Object> line) {
    byte[] bytes = (Shapes.API.write(line) + "\n").getBytes(StandardCharsets.UTF_8);
    synchronized (OUT) {
      try {
        OUT.write(bytes);
      } catch (IOException closed) {
        Runtime.getRuntime().halt(1);
      }
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "command");
    thread.setDaemon(true);
    return thread;
  }

  private final class SdkLog extends Handler {
    @Override
    public void publish(LogRecord line) {
      String level =
          line.getLevel().intValue() >= 1000
              ? "error"
              : line.getLevel().intValue() >= 900 ? "warn" : "info";
      print(
          Map.of(
              "event",
              "log",
              "level",
              level,
              "message",
              new SimpleFormatter().formatMessage(line)));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
