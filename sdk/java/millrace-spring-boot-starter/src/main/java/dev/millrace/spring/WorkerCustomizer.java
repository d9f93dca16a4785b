package dev.millrace.spring;

import dev.millrace.WorkerOptions;

/**
 * Sets options of the worker that have no property, such as its executor. A bean of this type is
 * applied to each worker before it is created.
 */
@FunctionalInterface
public interface WorkerCustomizer {
  /**
   * Changes the options.
   *
   * @param options the options, with the properties applied
   */
  void customize(WorkerOptions options);
}
