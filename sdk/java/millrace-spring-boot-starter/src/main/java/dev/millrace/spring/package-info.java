/**
 * Provides Spring Boot applications with a client and a worker, which runs methods with {@link
 * dev.millrace.spring.JobHandler}.
 */
package dev.millrace.spring;
