package dev.millrace;

/**
 * W3C trace context.
 *
 * @param traceparent the header of this name, at most 512 bytes
 * @param tracestate the header of this name, at most 512 bytes; may be null
 */
public record TraceContext(String traceparent, String tracestate) {}
