package dev.millrace;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.function.UnaryOperator;

/**
 * A type of jobs: its name, what its payloads are, and how its jobs are submitted unless a
 * submission says otherwise. Producers and workers share it. Immutable.
 *
 * <pre>{@code
 * static final JobType<Mail> MAIL = JobType.of("mail.send", Mail.class).queue("mail").maxAttempts(8);
 * }</pre>
 *
 * @param <P> the payload
 */
public final class JobType<P> {
  private final Type payload;
  private final NewJob defaults;

  private JobType(Type payload, NewJob defaults) {
    this.payload = payload;
    this.defaults = defaults;
  }

  /**
   * A type of jobs.
   *
   * @param <P> the payload
   * @param name 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @param payload the payload's class
   * @return the type
   */
  public static <P> JobType<P> of(String name, Class<P> payload) {
    return new JobType<>(payload, NewJob.of(name));
  }

  /**
   * A type of jobs whose payload has type arguments, such as a list of records.
   *
   * @param <P> the payload, which must be what {@code payload} says
   * @param name 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @param payload the payload's type
   * @return the type
   */
  public static <P> JobType<P> of(String name, Type payload) {
    return new JobType<>(payload, NewJob.of(name));
  }

  /**
   * Its jobs wait in this queue.
   *
   * @param queue the queue's name
   * @return a changed copy
   */
  public JobType<P> queue(String queue) {
    return with(job -> job.queue(queue));
  }

  /**
   * How often its jobs may be tried.
   *
   * @param attempts from 1 to 1,000
   * @return a changed copy
   */
  public JobType<P> maxAttempts(int attempts) {
    return with(job -> job.maxAttempts(attempts));
  }

  /**
   * How long its jobs wait between attempts.
   *
   * @param policy the policy
   * @return a changed copy
   */
  public JobType<P> retry(RetryPolicy policy) {
    return with(job -> job.retry(policy));
  }

  /**
   * The bound on one attempt.
   *
   * @param timeout to the millisecond
   * @return a changed copy
   */
  public JobType<P> timeout(Duration timeout) {
    return with(job -> job.timeout(timeout));
  }

  /**
   * Anything else that its submissions have in common.
   *
   * @param change what to name
   * @return a changed copy
   */
  public JobType<P> with(UnaryOperator<NewJob> change) {
    return new JobType<>(payload, change.apply(defaults));
  }

  /**
   * A job of this type.
   *
   * @param payload what the handler gets
   * @return a job to submit, perhaps with changes
   */
  public NewJob job(P payload) {
    return defaults.payload(payload);
  }

  /**
   * The type's name.
   *
   * @return the name
   */
  public String name() {
    return defaults.type();
  }

  /**
   * What its payloads are read as.
   *
   * @return the type of the payload
   */
  public Type payloadType() {
    return payload;
  }

  @Override
  public String toString() {
    return name();
  }
}
