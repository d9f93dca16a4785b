package dev.millrace;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.function.UnaryOperator;

/**
 * A type of jobs: its name, the types of its payloads and results, and the defaults of its
 * submissions. Producers and workers share it. Immutable.
 *
 * <pre>{@code
 * static final JobType<Mail, Receipt> MAIL =
 *     JobType.of("mail.send", Mail.class, Receipt.class).queue("mail").maxAttempts(8);
 * }</pre>
 *
 * @param <P> the payload
 * @param <R> the result; {@code Void} if its jobs have none, {@code Object} if it may be any value
 */
public final class JobType<P, R> {
  private final Type payload;
  private final Type result;
  private final NewJob defaults;

  private JobType(Type payload, Type result, NewJob defaults) {
    this.payload = payload;
    this.result = result;
    this.defaults = defaults;
  }

  /**
   * Returns a type of jobs that have no result.
   *
   * @param <P> the payload
   * @param name 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @param payload the payload's class
   * @return the type
   */
  public static <P> JobType<P, Void> of(String name, Class<P> payload) {
    return new JobType<>(payload, Void.class, NewJob.of(name));
  }

  /**
   * Returns a type of jobs.
   *
   * @param <P> the payload
   * @param <R> the result
   * @param name 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @param payload the payload's class
   * @param result the result's class
   * @return the type
   */
  public static <P, R> JobType<P, R> of(String name, Class<P> payload, Class<R> result) {
    return new JobType<>(payload, result, NewJob.of(name));
  }

  /**
   * Returns a type of jobs whose payload or result has type arguments, such as a list of records.
   *
   * @param <P> the payload; it must match {@code payload}
   * @param <R> the result; it must match {@code result}
   * @param name 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @param payload the payload's type
   * @param result the result's type
   * @return the type
   */
  public static <P, R> JobType<P, R> ofTypes(String name, Type payload, Type result) {
    return new JobType<>(payload, result, NewJob.of(name));
  }

  /**
   * Sets the queue of its jobs.
   *
   * @param queue the queue's name
   * @return a changed copy
   */
  public JobType<P, R> queue(String queue) {
    return with(job -> job.queue(queue));
  }

  /**
   * Sets the maximum number of attempts of its jobs.
   *
   * @param attempts from 1 to 1,000
   * @return a changed copy
   */
  public JobType<P, R> maxAttempts(int attempts) {
    return with(job -> job.maxAttempts(attempts));
  }

  /**
   * Sets the retry policy of its jobs.
   *
   * @param policy the policy
   * @return a changed copy
   */
  public JobType<P, R> retry(RetryPolicy policy) {
    return with(job -> job.retry(policy));
  }

  /**
   * Sets the timeout of each attempt.
   *
   * @param timeout the timeout, with millisecond precision
   * @return a changed copy
   */
  public JobType<P, R> timeout(Duration timeout) {
    return with(job -> job.timeout(timeout));
  }

  /**
   * Sets other defaults of its submissions.
   *
   * @param change sets the defaults
   * @return a changed copy
   */
  public JobType<P, R> with(UnaryOperator<NewJob> change) {
    return new JobType<>(payload, result, change.apply(defaults));
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
   * Returns the result of a job of this type.
   *
   * <pre>{@code
   * Receipt receipt = MAIL.resultOf(client.waitFor(id, Duration.ofMinutes(1)));
   * }</pre>
   *
   * @param job a job that was read with its result: by {@code waitFor}, or by {@code get} with
   *     {@link Job.Include#RESULT}
   * @return the result; null if the job has none, or none yet
   * @throws IllegalArgumentException if the job was read without its result
   * @throws CodecException if the result is not of this type
   */
  public R resultOf(Job job) {
    if (job.result() == null) {
      String why =
          job.redacted()
              ? "the token may not see results"
              : "read it with waitFor, or with get(id, Job.Include.RESULT)";
      throw new IllegalArgumentException(
          "job " + job.id() + " was read without its result; " + why);
    }
    return job.result().isNull() ? null : job.result().as(result);
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

  Type resultType() {
    return result;
  }

  @Override
  public String toString() {
    return name();
  }
}
