package dev.millrace.spring;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings under {@code millrace}.
 *
 * @param url the server's address; the default is {@code MILLRACE_URL}, else {@code
 *     http://127.0.0.1:7600}
 * @param token the application's token; the default is {@code MILLRACE_TOKEN}, else none
 * @param timeout the deadline of each whole call
 * @param worker the settings of the worker
 */
@ConfigurationProperties("millrace")
public record MillraceProperties(
    String url, String token, @DefaultValue("30s") Duration timeout, @DefaultValue Worker worker) {

  /**
   * The settings under {@code millrace.worker}.
   *
   * @param enabled whether the application runs a worker if it has handlers
   * @param queues the queues that the worker claims from, in order of preference
   * @param concurrency how many handlers run at a time
   * @param lease the length of the leases that it asks for; the default is the job's or the queue's
   * @param pollWait how long a claim waits at the server
   * @param grace how long handlers may run on after a stop; keep it below {@code
   *     spring.lifecycle.timeout-per-shutdown-phase}
   * @param id the worker's name; the default is generated
   * @param version the version of your program; the default is {@code MILLRACE_WORKER_VERSION},
   *     else none
   * @param labels labels that the server's list shows with the worker
   */
  public record Worker(
      @DefaultValue("true") boolean enabled,
      @DefaultValue("default") List<String> queues,
      @DefaultValue("10") int concurrency,
      Duration lease,
      @DefaultValue("10s") Duration pollWait,
      @DefaultValue("25s") Duration grace,
      String id,
      String version,
      @DefaultValue Map<String, String> labels) {}
}
