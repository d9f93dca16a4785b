package dev.millrace;

import java.time.Instant;

/**
 * The schedule that made a job.
 *
 * @param name the schedule's name
 * @param scheduledAt the instant that the job is for; it may come later
 */
public record JobSchedule(String name, Instant scheduledAt) {}
