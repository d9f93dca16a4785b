/**
 * A client and a worker for Millrace, a durable job queue. Start with {@link
 * dev.millrace.MillraceClient}.
 */
package dev.millrace;
