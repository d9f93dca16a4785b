package dev.millrace;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.function.UnaryOperator;

/**
 * A type of jobs: its name, the type of its payloads, and the defaults of its submissions.
 * Producers and workers share it. Immutable.
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
   * Returns a type of jobs.
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
   * Returns a type of jobs whose payload has type arguments, such as a list of records.
   *
   * @param <P> the payload; it must match {@code payload}
   * @param name 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @param payload the payload's type
   * @return the type
   */
  public static <P> JobType<P> of(String name, Type payload) {
    return new JobType<>(payload, NewJob.of(name));
  }

  /**
   * Sets the queue of its jobs.
   *
   * @param queue the queue's name
   * @return a changed copy
   */
  public JobType<P> queue(String queue) {
    return with(job -> job.queue(queue));
  }

  /**
   * Sets the maximum number of attempts of its jobs.
   *
   * @param attempts from 1 to 1,000
   * @return a changed copy
   */
  public JobType<P> maxAttempts(int attempts) {
    return with(job -> job.maxAttempts(attempts));
  }

  /**
   * Sets the retry policy of its jobs.
   *
   * @param policy the policy
   * @return a changed copy
   */
  public JobType<P> retry(RetryPolicy policy) {
    return with(job -> job.retry(policy));
  }

  /**
   * Sets the timeout of each attempt.
   *
   * @param timeout the timeout, with millisecond precision
   * @return a changed copy
   */
  public JobType<P> timeout(Duration timeout) {
    return with(job -> job.timeout(timeout));
  }

  /**
   * Sets other defaults of its submissions.
   *
   * @param change sets the defaults
   * @return a changed copy
   */
  public JobType<P> with(UnaryOperator<NewJob> change) {
    return new JobType<>(payload, change.apply(defaults));
  }

  /**
   * Returns a job of this type.
   *
   * @param payload the payload
   * @return a job to submit, which may be changed first
   */
  public NewJob job(P payload) {
    return defaults.payload(payload);
  }

  /**
   * Returns the type's name.
   *
   * @return the name
   */
  public String name() {
    return defaults.type();
  }

  /**
   * Returns the type of its payloads.
   *
   * @return the type
   */
  public Type payloadType() {
    return payload;
  }

  @Override
  public String toString() {
    return name();
  }
}
