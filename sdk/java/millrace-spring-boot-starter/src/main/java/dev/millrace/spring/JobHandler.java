package dev.millrace.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a method of a bean the handler of a type of jobs. Its parameters are the payload, read as
 * the parameter's type, and a {@link dev.millrace.JobContext}; either may be left out. Its return
 * value is the job's result.
 *
 * <pre>{@code
 * @JobHandler("mail.send")
 * void send(Mail mail, JobContext ctx) { ... }
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface JobHandler {
  /**
   * Returns the type of the jobs.
   *
   * @return its name
   */
  String value();
}
