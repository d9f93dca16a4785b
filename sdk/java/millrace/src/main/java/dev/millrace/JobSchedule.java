package dev.millrace;

import java.time.Instant;

/**
 * The schedule that created a job.
 *
 * @param name the schedule's name
 * @param scheduledAt the instant that the job is for; the job may be created later
 */
public record JobSchedule(String name, Instant scheduledAt) {}
