package dev.millrace;

import static dev.millrace.Constants.GOODBYE;
import static dev.millrace.Constants.LAST_FLUSH;
import static dev.millrace.Constants.LAST_SECOND;
import static dev.millrace.Constants.LEAST_PATIENCE;
import static dev.millrace.Constants.MOST_ITEMS;
import static dev.millrace.Constants.PAUSE_AFTER_REFUSAL;
import static dev.millrace.Constants.QUIET_POLL;
import static dev.millrace.Constants.REFUSED_FLUSH;
import static dev.millrace.Constants.SLOW_LINE_BYTES_PER_S;
import static dev.millrace.Constants.YOUNG_CLAIM;

import dev.millrace.Exchange.BeatOf;
import dev.millrace.Exchange.LinesOf;
import dev.millrace.Wire.PollAnswer;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * The state of a worker, owned by one thread. Handlers and answers reach it through the inbox; it
 * waits for nothing but its inbox and its clock.
 *
 * <p>At most two requests are under way. The claimer's request carries the ready outcomes, asks for
 * jobs for the free slots, and waits at the server. The reporter's request carries data that can't
 * wait meanwhile: later outcomes, heartbeats, log lines, and a claim that does not wait, for the
 * slots that were freed. Only a stop aborts a waiting claim, and never a young one: its answer may
 * be on the way, with jobs that nobody would run before their leases have ended.
 */
final class WorkerLoop implements Runnable {
  private static final System.Logger LOG = System.getLogger("dev.millrace");

  /** The delay after which reported lines and progress are handled, together with later ones. */
  private static final long REPORT_PAUSE = Clock.millis(450);

  /** How long a claim waits that is sent with outcomes, whose answer comes only after the wait. */
  private static final long WAIT_WITH_ACKS = Clock.millis(1_000);

  /** How long a freed slot waits for others, so that one claim covers them all. */
  private static final long LINGER = Clock.millis(1);

  /** The time that a slow line needs for a character of the outcomes in a request. */
  private static final long NANOS_PER_CHARACTER = Clock.millis(1_000) / SLOW_LINE_BYTES_PER_S;

  private final PollClient client;
  private final ApiCodec codec;
  private final Preparer preparer;
  private final WorkerOptions options;
  private final Handlers handlers;
  private final Executor pool;
  private final Inbox inbox = new Inbox();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Execution.Listener listener =
      new Execution.Listener() {
        @Override
        public void reported() {
          inbox.post(() -> {}, Clock.now() + REPORT_PAUSE);
        }

        @Override
        public boolean isStopping() {
          return stopping;
        }
      };

  private volatile boolean stopping; // for handlers
  private volatile MillraceException failure;

  // Used by this thread only.
  private final Map<Slot.Key, Slot> slots = new LinkedHashMap<>();
  private final List<Slot> held = new ArrayList<>(); // ENDED: the slot is free again
  private final Outbox outbox = new Outbox();
  private final Reachability server = new Reachability();
  private final Backoff claimBackoff = new Backoff();
  private final Backoff reportBackoff = new Backoff();
  private Phase phase = Phase.CLAIMING;
  private Exchange claim;
  private Exchange report;
  private int asked;
  private int freshlyFree; // since the last claim
  private long firstFreed;
  private long claimNotBefore;
  private long reportNotBefore;
  private long quietPollAt = Clock.NEVER;
  private long phaseEnds = Clock.NEVER;
  private boolean isQuiet;

  WorkerLoop(
      Transport transport,
      ApiCodec codec,
      Preparer preparer,
      WorkerOptions options,
      Handlers handlers,
      WorkerName name) {
    this.codec = codec;
    this.preparer = preparer;
    this.options = options;
    this.handlers = handlers;
    PollWriter writer = new PollWriter(options, handlers.types(), name.host(), name.pid());
    client = new PollClient(transport, codec, writer, name);
    pool = options.executor != null ? options.executor : HandlerPool.create("millrace-handler");
  }

  // For other threads.

  void requestStop() {
    stopping = true;
    inbox.post(() -> beginStop(null));
  }

  /** Tells running handlers to end now, not after the grace time. */
  void endGrace() {
    stopping = true;
    inbox.post(
        () -> {
          beginStop(null);
          if (phase == Phase.GRACE) phaseEnds = 0;
        });
  }

  CountDownLatch ended() {
    return ended;
  }

  boolean isServerAway() {
    return server.isAway();
  }

  /** Why the worker ended by itself; null if it did not. */
  MillraceException failure() {
    return failure;
  }

  @Override
  public void run() {
    try {
      while (phase != Phase.ENDED) {
        inbox.runAll();
        inbox.sleep(step());
      }
    } catch (RuntimeException | Error bug) {
      failure =
          MillraceException.of("internal", "the worker has failed: " + Described.text(bug), bug);
      // Nobody extends the leases any more.
      for (Slot slot : slots.values()) slot.execution.tell(StopReason.LEASE_LOST);
      LOG.log(Level.ERROR, "the worker has failed", bug);
    } finally {
      ended.countDown();
      if (failure != null) tellFailure();
    }
  }

  private void tellFailure() {
    if (options.onFailure == null) return;
    try {
      options.onFailure.accept(failure);
    } catch (RuntimeException | Error broken) { // the application's
      LOG.log(Level.ERROR, "the callback of a worker's failure has failed", broken);
    }
  }

  /** Does what is due. Returns when to call it again. */
  private long step() {
    long now = Clock.now();
    // Before any request is sent, since the process may have been paused.
    watchSlots(now);
    watchPhase(now);
    breakOffLate(now);
    if (claimDue() <= now) sendClaim(now);
    if (reportDue(now) <= now) sendReport(now);
    return nextDue(now);
  }

  private long nextDue(long now) {
    if (phase == Phase.ENDED) return 0;
    long due = Math.min(phaseEnds, Math.min(claimDue(), reportDue(now)));
    for (Slot slot : slots.values()) due = Math.min(due, slot.watchDue());
    for (Slot slot : held) {
      if (!slot.isReporting()) due = Math.min(due, slot.watchDue());
    }
    if (claim != null) due = Math.min(due, claimDeadline(now));
    if (report != null) due = Math.min(due, report.deadline);
    return due;
  }

  // Leases and timeouts.

  private void watchSlots(long now) {
    for (Iterator<Slot> all = slots.values().iterator(); all.hasNext(); ) {
      Slot slot = all.next();
      if (slot.watchDue() > now) continue;
      if (slot.state == Slot.State.CONFIRMING) {
        all.remove(); // it never ran; its lease ends, and another worker gets the job
        freed(now);
      } else if (slot.certainUntil <= now) {
        slot.execution.tell(StopReason.LEASE_LOST);
      } else {
        slot.execution.tell(StopReason.TIMEOUT);
      }
    }
    settleHeld(now);
  }

  private void breakOffLate(long now) {
    if (claim != null && claimDeadline(now) <= now) breakOff(claim);
    if (report != null && report.deadline <= now) breakOff(report);
  }

  /** Until when a stop waits for the answer to a claim that the server has just received. */
  private long claimDeadline(long now) {
    if (phase == Phase.CLAIMING || claim.isBrokenOff) return claim.deadline;
    return Math.min(claim.deadline, Math.min(claim.writtenAt, now) + YOUNG_CLAIM);
  }

  private static void breakOff(Exchange exchange) {
    exchange.deadline = Clock.NEVER;
    exchange.isBrokenOff = true;
    exchange.answer.cancel(true);
  }

  // The stop.

  private void beginStop(MillraceException why) {
    if (phase != Phase.CLAIMING) return;
    stopping = true;
    failure = why;
    if (why != null) LOG.log(Level.ERROR, "the worker ends: {0}", why.getMessage());
    long now = Clock.now();
    phase = Phase.GRACE;
    phaseEnds = now + options.grace.toNanos();
    reportNotBefore = Math.min(reportNotBefore, now + PAUSE_AFTER_REFUSAL);
    for (Iterator<Slot> all = slots.values().iterator(); all.hasNext(); ) {
      Slot slot = all.next();
      if (slot.state != Slot.State.CONFIRMING) continue;
      all.remove();
      release(slot);
    }
  }

  private void release(Slot slot) {
    outbox.add(Ack.of(slot.id(), slot.token(), new Outcome.Released()));
  }

  private void watchPhase(long now) {
    if (phase == Phase.GRACE && phaseEnds <= now) {
      phase = Phase.LAST_WORD;
      phaseEnds = now + LAST_SECOND;
      for (Slot slot : slots.values()) slot.execution.tell(StopReason.STOPPING);
    } else if (phase == Phase.LAST_WORD && phaseEnds <= now) {
      for (Slot slot : slots.values()) {
        if (!slot.execution.isLeaseLost()) release(slot);
      }
      slots.clear(); // later outcomes find no slot, and are ignored
    }
    if ((phase == Phase.GRACE || phase == Phase.LAST_WORD) && slots.isEmpty()) {
      phase = Phase.FLUSHING;
      phaseEnds = now + (failure == null ? LAST_FLUSH : REFUSED_FLUSH);
    }
    if (phase == Phase.FLUSHING && claim == null && report == null) {
      boolean toldAll = outbox.isEmpty() && held.isEmpty();
      if (toldAll || phaseEnds <= now) sayGoodbye(now, toldAll);
    } else if (phase == Phase.FLUSHING && phaseEnds <= now) {
      phaseEnds = now + GOODBYE;
      if (claim != null) breakOff(claim);
      if (report != null) breakOff(report);
      outbox.clear();
    }
  }

  private void sayGoodbye(long now, boolean toldAll) {
    if (!toldAll) {
      LOG.log(
          Level.WARNING,
          "the worker ends before it could report all outcomes; the server runs those jobs again");
    }
    if (server.isAway() || failure != null) {
      phase = Phase.ENDED;
      return;
    }
    phase = Phase.GOODBYE;
    phaseEnds = Clock.NEVER;
    Exchange last = new Exchange(false, List.of(), List.of(), List.of(), 0, 0);
    report = last;
    last.deadline = now + GOODBYE;
    client.sayGoodbye(last, (answer, error) -> inbox.post(() -> arrived(last, answer, error)));
  }

  // Claims.

  private int open() {
    return options.concurrency - slots.size() - asked;
  }

  private void freed(long now) {
    if (freshlyFree++ == 0) firstFreed = now;
  }

  private long claimDue() {
    if (phase != Phase.CLAIMING || isQuiet || claim != null || open() <= 0) return Clock.NEVER;
    boolean othersMayJoin = open() <= freshlyFree && !slots.isEmpty() && freshlyFree < 64;
    return othersMayJoin ? Math.max(claimNotBefore, firstFreed + LINGER) : claimNotBefore;
  }

  private void sendClaim(long now) {
    List<Ack> acks = outbox.take();
    long wait = options.pollWait.toNanos();
    if (!acks.isEmpty()) wait = Math.min(wait, WAIT_WITH_ACKS);
    int limit = Math.min(open(), MOST_ITEMS);
    claim = new Exchange(true, acks, List.of(), List.of(), limit, wait);
    send(claim, now + wait + client.patience());
  }

  private void claimFailed(Exchange exchange, MillraceException error, long now) {
    if (phase != Phase.CLAIMING) {
      outbox.giveBack(exchange.acks);
      return;
    }
    if (!exchange.acks.isEmpty() && Refusal.isAboutContent(error)) {
      // The next claim carries no outcomes, and shows whether the claim itself is at fault.
      for (Ack ack : exchange.acks) outbox.addAlone(ack);
    } else {
      outbox.giveBack(exchange.acks);
      if (Refusal.endsWork(error)) {
        beginStop(error);
        return;
      }
      server.failed(error);
    }
    pauseClaims(error.retryAfter(), now);
  }

  private void pauseClaims(Duration atLeast, long now) {
    long pause = claimBackoff.nextNanos();
    if (atLeast != null) pause = Math.max(pause, atLeast.toNanos());
    claimNotBefore = now + pause;
  }

  private void admit(Exchange exchange, List<Wire.Claim> jobs) {
    for (Wire.Claim job : jobs) {
      long token = job.lease().token();
      if (phase != Phase.CLAIMING) {
        outbox.add(Ack.of(job.id(), token, new Outcome.Released()));
        continue;
      }
      Execution execution = new Execution(job.job(), token, codec, preparer, listener);
      long lease = job.lease().length().toNanos();
      Slot slot = new Slot(execution, lease, exchange.sentAt, exchange.arrivedAt);
      if (job.length() != null) slot.lasts(job.length());
      slots.put(slot.key(), slot);
      if (slot.state == Slot.State.RUNNING) start(slot);
      slot.hidesLength = job.hidesLength();
      if (slot.hidesLength) askLength(slot);
    }
    // A hanging report must leave time for the heartbeats of these jobs.
    if (report != null && phase == Phase.CLAIMING) {
      long patience = reportTimeout(report.acks.stream().mapToInt(Ack::size).sum());
      report.deadline = Math.min(report.deadline, Clock.now() + patience);
    }
  }

  /** Asks for the attempt's timeout by a separate heartbeat. Retries while the attempt runs. */
  private void askLength(Slot slot) {
    long sentAt = Clock.now();
    client.beatAlone(
        slot,
        reportTimeout(0),
        (job, error) -> inbox.post(() -> lengthArrived(slot, job, error, sentAt)));
  }

  private void lengthArrived(Slot slot, Job job, MillraceException error, long sentAt) {
    if (slots.get(slot.key()) != slot) return;
    if (error == null) {
      if (job.timeout() != null) slot.lasts(job.timeout());
      beatSucceeded(slot, sentAt, job.cancelRequested());
    } else if (error instanceof MillraceException.LeaseLost) {
      lost(slot);
    } else if (Refusal.isForNow(error)) {
      CompletableFuture.delayedExecutor(PAUSE_AFTER_REFUSAL, TimeUnit.NANOSECONDS)
          .execute(() -> inbox.post(() -> askAgain(slot)));
    }
  }

  private void askAgain(Slot slot) {
    if (slots.get(slot.key()) == slot && slot.wantsBeats()) askLength(slot);
  }

  private void start(Slot slot) {
    slot.state = Slot.State.RUNNING;
    try {
      pool.execute(() -> work(slot));
    } catch (RuntimeException | Error refused) { // the application's executor, or no more threads
      LOG.log(Level.ERROR, "no thread for a handler", refused);
      handlerEnded(slot, Ack.broken(slot.execution, refused));
    }
  }

  /** Carries out an attempt, in the handler's thread. Whatever fails here, the slot is freed. */
  private void work(Slot slot) {
    String ack;
    try {
      // The lease may be over if the process was paused on the way here.
      if (slot.certainUntil <= Clock.now()) slot.execution.tell(StopReason.LEASE_LOST);
      Outcome outcome = slot.execution.run(handlers);
      if (outcome instanceof Outcome.Failed failed) logFailure(failed, slot.execution);
      ack = outcome == null ? null : Ack.write(slot.execution, outcome, codec);
    } catch (Throwable bug) {
      ack = slot.execution.isLeaseLost() ? null : Ack.broken(slot.execution, bug);
    }
    String told = ack;
    inbox.post(() -> handlerEnded(slot, told), Clock.now() + LINGER);
  }

  private static void logFailure(Outcome.Failed failed, Execution execution) {
    ClaimedJob job = execution.job();
    boolean isDead = !failed.retryable() || job.attempt() >= job.maxAttempts();
    String text =
        String.format(
            "job %s (%s): attempt %d of %d failed: %s: %s; %s",
            job.id(),
            job.type(),
            job.attempt(),
            job.maxAttempts(),
            failed.error().type(),
            failed.error().message(),
            isDead ? "the job is dead" : "the server tries it again");
    // A failure with a delay is a RetryAfter: the handler meant it, and needs no stack trace.
    if (failed.delay() != null) {
      LOG.log(isDead ? Level.WARNING : Level.INFO, text);
      return;
    }
    Throwable thrown = execution.thrown();
    if (Described.isPrintable(thrown)) {
      LOG.log(Level.WARNING, text, thrown);
    } else {
      LOG.log(Level.WARNING, text);
    }
  }

  private void handlerEnded(Slot slot, String ack) {
    long now = Clock.now();
    if (slots.remove(slot.key()) == null) return; // was released
    freed(now);
    if (ack == null) return;
    slot.outcome = ack;
    slot.state = Slot.State.ENDED;
    held.add(slot);
  }

  /** Releases the outcomes whose log lines and progress have reached the server. */
  private void settleHeld(long now) {
    if (held.isEmpty()) return;
    held.removeIf(
        slot -> {
          boolean isOver = slot.certainUntil <= now;
          if (slot.isReporting()) return false;
          if (!isOver && ReportBatch.mustGoFirst(slot)) return false;
          List<LogBuffer.Line> lines = slot.execution.logs().take(MOST_ITEMS);
          String json = PollWriter.ack(slot.outcome, lines);
          outbox.add(new Ack(slot.id(), slot.token(), json, now, 0, false));
          return true;
        });
  }

  // Reports.

  private long reportDue(long now) {
    if (report != null) return Clock.NEVER;
    long due = Math.min(acksDue(), Math.min(outbox.dueAlone(), quietPollAt));
    for (Slot slot : slots.values()) due = Math.min(due, ReportBatch.due(slot));
    for (Slot slot : held) due = Math.min(due, ReportBatch.due(slot));
    return due == Clock.NEVER ? due : Math.max(due, reportNotBefore);
  }

  private long acksDue() {
    // The claim that the stop is about to abort could receive the released jobs.
    if (claim != null && phase != Phase.CLAIMING) return Clock.NEVER;
    boolean nothingJoins = slots.isEmpty() && (claim != null || phase != Phase.CLAIMING);
    return nothingJoins ? outbox.dueWithoutDelay() : outbox.due();
  }

  private void sendReport(long now) {
    Ack alone = outbox.takeAlone(now);
    if (alone != null) {
      report = new Exchange(false, List.of(alone), List.of(), List.of(), 0, 0);
      send(report, now + reportTimeout(alone.size()));
      return;
    }
    List<Ack> acks = acksDue() <= now ? outbox.take() : List.of();
    ReportBatch batch = new ReportBatch();
    for (Slot slot : slots.values()) batch.take(slot, now);
    for (Slot slot : held) batch.take(slot, now);
    // For slots that the waiting claim did not ask for. Not if the answer is likely to be lost:
    // its jobs would be leased but run by nobody.
    boolean claims =
        !acks.isEmpty()
            && phase == Phase.CLAIMING
            && claim != null
            && !isQuiet
            && !server.isAway()
            && open() > 0;
    int limit = claims ? Math.min(open(), MOST_ITEMS) : 0;
    report = new Exchange(false, acks, batch.beats, batch.lines, limit, 0);
    if (isQuiet) quietPollAt = now + QUIET_POLL;
    int size = acks.stream().mapToInt(Ack::size).sum();
    send(report, now + reportTimeout(size));
  }

  /** Returns the timeout of a report: a hanging connection must not cost the leases. */
  private long reportTimeout(int characters) {
    long patience = client.patience();
    for (Slot slot : slots.values()) patience = Math.min(patience, slot.lease / 3);
    return Math.max(patience, LEAST_PATIENCE) + characters * NANOS_PER_CHARACTER;
  }

  private void reportFailed(Exchange exchange, MillraceException error, long now) {
    boolean surelyUnseen = error.status() == 429 || error.status() == 503;
    for (LinesOf taken : exchange.lines) {
      // Otherwise they may have arrived, and a duplicate line is worse than a missing one.
      if (surelyUnseen) taken.slot().execution.logs().giveBack(taken.lines());
    }
    if (Refusal.isDenied(error)) {
      outbox.giveBack(exchange.acks);
      if (phase == Phase.CLAIMING) beginStop(error);
      else if (phase != Phase.GRACE) outbox.clear();
      pauseReports(error, now);
      return;
    }
    if (exchange.acks.size() == 1 && Refusal.isAboutContent(error)) {
      outbox.refused(exchange.acks.get(0), error, now);
    } else if (Refusal.isAboutContent(error)) {
      for (Ack ack : exchange.acks) outbox.addAlone(ack);
      for (BeatOf beat : exchange.beats) beat.slot().nextIsPlain = exchange.acks.isEmpty();
      if (exchange.acks.isEmpty()) {
        warnRefused("heartbeats", error);
        pauseReports(error, now);
      }
    } else {
      outbox.giveBack(exchange.acks);
      server.failed(error);
      pauseReports(error, now);
    }
    for (BeatOf beat : exchange.beats) {
      if (beat.progress() != null && !beat.slot().nextIsPlain) {
        beat.slot().execution.giveBack(beat.progress());
      }
      beat.slot().nextBeat = now;
    }
  }

  private void pauseReports(MillraceException error, long now) {
    long pause = reportBackoff.nextNanos();
    if (error.retryAfter() != null && phase == Phase.CLAIMING) {
      pause = Math.max(pause, error.retryAfter().toNanos());
    }
    for (Slot slot : slots.values()) pause = Math.min(pause, slot.lease / 6);
    reportNotBefore = now + pause;
  }

  // Answers.

  private void send(Exchange exchange, long deadline) {
    if (exchange.asked > 0) {
      asked += exchange.asked;
      freshlyFree = 0;
    }
    exchange.deadline = deadline;
    client.send(exchange, (answer, error) -> inbox.post(() -> arrived(exchange, answer, error)));
  }

  private void arrived(Exchange exchange, PollAnswer answer, MillraceException error) {
    long now = Clock.now();
    asked -= exchange.asked;
    if (exchange == claim) claim = null;
    if (exchange == report) report = null;
    for (BeatOf beat : exchange.beats) beat.slot().beatInFlight = false;
    for (LinesOf taken : exchange.lines) taken.slot().linesInFlight = false;
    if (phase == Phase.GOODBYE) {
      phase = Phase.ENDED;
    } else if (error != null && exchange.isClaimer) {
      claimFailed(exchange, error, now);
    } else if (error != null) {
      reportFailed(exchange, error, now);
    } else {
      server.worked(client.url());
      answered(exchange, answer, now);
    }
  }

  private void answered(Exchange exchange, PollAnswer answer, long now) {
    admit(exchange, answer.jobs());
    for (int i = 0; i < exchange.acks.size(); i++) {
      Wire.Item item = i < answer.acks().size() ? answer.acks().get(i) : null;
      outbox.answered(exchange.acks.get(i), item, now);
    }
    for (int i = 0; i < exchange.beats.size(); i++) {
      Wire.Item item = i < answer.heartbeats().size() ? answer.heartbeats().get(i) : null;
      beatAnswered(exchange, exchange.beats.get(i), item, now);
    }
    boolean isCommanded = takeCommands(answer.commands());
    if (!exchange.isClaimer) {
      reportBackoff.reset();
      return;
    }
    boolean isEarly = now - exchange.sentAt < exchange.wait / 2;
    if (isEarly && answer.jobs().isEmpty() && !isCommanded) {
      pauseClaims(null, now); // a server that is stopping does not let claims wait
    } else {
      claimBackoff.reset();
    }
  }

  private void beatAnswered(Exchange exchange, BeatOf beat, Wire.Item item, long now) {
    Slot slot = beat.slot();
    MillraceException error = item == null || item.error() == null ? null : item.error().error();
    if (item != null && error == null) {
      beatSucceeded(slot, exchange.sentAt, item.cancelRequested());
    } else if (error instanceof MillraceException.LeaseLost) {
      lost(slot);
    } else if (error == null || Refusal.isForNow(error)) {
      slot.nextBeat = now + PAUSE_AFTER_REFUSAL;
      if (beat.progress() != null) slot.execution.giveBack(beat.progress());
    } else {
      warnRefused(beat.progress() == null ? "heartbeat" : "progress", error);
      slot.nextBeat = beat.progress() == null ? now + PAUSE_AFTER_REFUSAL : now;
      slot.nextIsPlain = true;
    }
  }

  private void beatSucceeded(Slot slot, long sentAt, boolean isCancelled) {
    slot.extended(sentAt);
    if (slots.get(slot.key()) != slot) return;
    if (slot.state == Slot.State.CONFIRMING) {
      confirmed(slot, isCancelled, Clock.now());
    } else if (isCancelled) {
      slot.execution.tell(StopReason.CANCELLED);
    }
  }

  private void lost(Slot slot) {
    // A lease also ends when the attempt times out.
    boolean isTimeout = slot.hidesLength || slot.timeoutFrom <= Clock.now();
    slot.isRefused = true;
    slot.certainUntil = 0;
    slot.execution.tell(isTimeout ? StopReason.TIMEOUT : StopReason.LEASE_LOST);
    boolean isUnstarted = slot.state == Slot.State.CONFIRMING;
    if (isUnstarted && slots.remove(slot.key(), slot)) freed(Clock.now());
  }

  private void confirmed(Slot slot, boolean isCancelled, long now) {
    if (isCancelled) {
      slots.remove(slot.key());
      freed(now);
      outbox.add(Ack.of(slot.id(), slot.token(), new Outcome.Cancelled(null)));
    } else if (slot.certainUntil <= now) {
      slot.nextBeat = now; // the answer took as long as the lease
    } else {
      start(slot);
    }
  }

  private boolean takeCommands(List<Wire.Command> commands) {
    boolean any = false;
    for (Wire.Command command : commands) {
      switch (command.type()) {
        case "cancel" -> {
          any = true;
          Slot slot = slots.get(new Slot.Key(command.jobId(), command.token()));
          if (slot != null) slot.execution.tell(StopReason.CANCELLED);
        }
        case "stop" -> {
          if (phase == Phase.CLAIMING) LOG.log(Level.INFO, "the server told the worker to stop");
          beginStop(null);
        }
        case "quiet" -> {
          if (!isQuiet) LOG.log(Level.INFO, "the server told the worker to claim no more");
          isQuiet = true;
          if (quietPollAt == Clock.NEVER) quietPollAt = Clock.now() + QUIET_POLL;
        }
        default -> LOG.log(Level.DEBUG, "an unknown command: {0}", command.type());
      }
    }
    return any;
  }

  private void warnRefused(String what, MillraceException error) {
    LOG.log(Level.WARNING, "the server refused the {0}: {1}", what, error.getMessage());
  }
}
