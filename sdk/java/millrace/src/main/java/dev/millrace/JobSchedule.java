// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * The schedule that created a job.
 *
 * @param name the schedule's name
 * @param scheduledAt the instant that the job is for; the job may come later
 */
public record JobSchedule(String name, Instant scheduledAt) {}
