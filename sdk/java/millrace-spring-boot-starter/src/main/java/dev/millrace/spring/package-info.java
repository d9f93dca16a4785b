/**
 * Millrace in Spring Boot applications: a client, a worker, and methods with {@link
 * dev.millrace.spring.JobHandler}.
 */
package dev.millrace.spring;
