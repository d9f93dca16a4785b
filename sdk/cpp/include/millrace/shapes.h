// Made by tools/types from docs/reference/openapi.yaml; do not edit.
// The structures that cross HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::sdk {

using Milliseconds = std::chrono::milliseconds;
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC
using Meta = std::vector<std::pair<std::string, std::string>>;

// The pause before each further attempt. The server's defaults apply to unset members.
struct RetryPolicy {
  // How the delay grows.
  std::string strategy{};
  // The first delay. Default `5000`. At most 10 years.
  std::optional<Milliseconds> base{};
  // The longest delay. Default `300000`. At most 10 years.
  std::optional<Milliseconds> max{};
  // The part by which a delay varies either way. Default `0.2`. 0 to 1.
  std::optional<double> jitter{};
  // The delay after each attempt; the last one repeats. 1 to 100 entries.
  std::vector<Milliseconds> delays{};
};

// At most one job of the queue has a given key.
struct Unique {
  // The key. 1 to 255 characters.
  std::string key{};
  // How long the key is held at least. Default until the job has ended. At most 10 years.
  std::optional<Milliseconds> hold{};
  // `return` the holder, `reject` with 409 `duplicate_job`, or `replace`: cancel a waiting holder
  // (a running one is 409). `debounce`: a waiting holder takes the new payload, and starts
  // `delay_ms` after the newest submission (its backoff is never shortened; another type is 409). A
  // running holder lets one new job wait; if it fails without having ended, it is cancelled as
  // `superseded`. With `hold`, `return` is a throttle. Default `return`.
  std::string on_conflict{};
  // With `debounce`: the longest time from the first submission to the start. At most 10 years.
  std::optional<Milliseconds> max_wait{};
};

// A limit that the job must pass to start.
struct JobLimit {
  // The limit's name.
  std::string name{};
  // The job's key, if the limit counts by key. 1 to 255 characters.
  std::string key{};
  // The tokens of the limit's rate that a start takes. Default `1`. 1 to 1,000,000.
  std::optional<std::int64_t> cost{};
};

// A job to submit. Only `type` is required; the server's defaults apply to empty and unset members.
struct NewJob {
  // The type, which decides who runs the job: 1 to 128 characters of `A-Za-z0-9._:/-`.
  std::string type{};
  // Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
  // Raw JSON.
  std::string payload = "null";
  // The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
  // `default`.
  std::string queue{};
  // Lower runs first. Default `0`. -32,768 to 32,767.
  std::optional<int> priority{};
  // The earliest start; not together with `delay`. Default now.
  std::optional<Timestamp> run_at{};
  // The same as `run_at`, counted from the submission. At most 10 years.
  std::optional<Milliseconds> delay{};
  // A job that has not started by then is `expired`; not together with `expires_in`. Default never.
  std::optional<Timestamp> expires_at{};
  // The same as `expires_at`, counted from the submission. At most 10 years.
  std::optional<Milliseconds> expires_in{};
  // The most attempts. Default the queue's. 1 to 1,000.
  std::optional<int> max_attempts{};
  // How long the job waits after a failed attempt. Default the queue's.
  std::optional<RetryPolicy> retry{};
  // The length of a lease. Default the queue's. 1,000 to 86,400,000 ms.
  std::optional<Milliseconds> lease{};
  // The bound on one attempt, however often it is extended. Default none. At most 10 years.
  std::optional<Milliseconds> timeout{};
  // Allows one job for each key within the queue.
  std::optional<Unique> unique{};
  // Names to find the job by. Default `[]`. At most 32 entries.
  std::vector<std::string> tags{};
  // The client's own strings, at most 8 KiB. Default `{}`.
  Meta meta{};
  // The limits that a job must pass to start, its queue's included; each name once. `key` is
  // required if the limit counts by key, and forbidden otherwise. At most 8 entries.
  std::vector<JobLimit> limits{};
  // Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
  // submission; priority does not count among them. 1 to 128 characters.
  std::string order_key{};
  // `hold`: while the job waits for its next attempt, its successors wait too. `pass`: they run.
  // Default `hold`.
  std::string order_on_failure{};
  // The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
  // characters.
  std::string fair_key{};
  // A UUIDv7 that the client makes. A second submission of it to the same queue returns the stored
  // job, as long as the server keeps that. If the job now has another type, payload (byte by byte),
  // priority, timeout, tags, meta or unique key, it is 409 `id_mismatch`. If another queue's job
  // has the id, it is 409 `duplicate_job`. If it is left out, the server makes one.
  std::string id{};
  // A repetition with the key returns the first job, for 24 hours (a setting). As the header
  // `Idempotency-Key` of a single job; bound to the item and the batch's `defaults` as they are
  // sent. Visible ASCII. 1 to 255 characters.
  std::string idempotency_key{};
  // W3C trace context. At most 512 characters.
  std::string traceparent{};
  // W3C trace state, which goes with it. At most 512 characters.
  std::string tracestate{};
};

// Why an attempt failed.
struct JobError {
  // The type that the worker reported, or one of the server's: `lease_expired`, `timeout` or
  // `worker_lost`.
  std::string type{};
  // At most 4 KiB.
  std::string message{};
  // At most 32 KiB; empty if there is none.
  std::string stack{};
  // Equal for errors of the same group.
  std::string fingerprint{};
  // The attempt that failed, from 1.
  int attempt = 0;
  // When it failed.
  std::optional<Timestamp> at{};
  // The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
  // are unset, `message` of an error or a log line is empty. Always `true`.
  bool redacted = false;
};

// The progress that a handler reported.
struct Progress {
  // From 0 to 100; unset if it was not told.
  std::optional<double> percent{};
  // At most 1,024 bytes; empty if it was not told.
  std::string message{};
  // State for the next attempt; opaque JSON. Raw JSON.
  std::string checkpoint{};
};

// A line of a job's log.
struct LogLine {
  // Rises along the job's lines.
  std::int64_t seq = 0;
  // The attempt that wrote the line, from 1.
  int attempt = 0;
  // When it was written, by the worker's clock.
  std::optional<Timestamp> at{};
  // Its level; `info` if the worker gave none.
  std::string level{};
  // At most 8 KiB.
  std::string message{};
  // The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
  // are unset, `message` of an error or a log line is empty. Always `true`.
  bool redacted = false;
  // The complete object as the server sent it.
  std::string json{};
};

// One start of a job, and its result.
struct Attempt {
  // Counts every start, from 1.
  int n = 0;
  // The attempt's number, from 1. Snoozed and released attempts do not count.
  int attempt = 0;
  // The worker's name; empty if it is not known.
  std::string worker{};
  // When a worker got the job.
  std::optional<Timestamp> started_at{};
  // When it ended; unset while it runs.
  std::optional<Timestamp> finished_at{};
  // How it ended.
  std::string outcome{};
  // Why it failed; unset if it did not.
  std::optional<JobError> error{};
};

// The schedule that made a job, and the instant for which it was made.
struct JobSchedule {
  // The schedule's name.
  std::string name{};
  // The instant that the job is for; the job may come later.
  std::optional<Timestamp> scheduled_at{};
};

// What a job is to its workflow.
struct JobWorkflow {
  std::string id{};
  // The workflow's; empty if it has none.
  std::string name{};
  // The member's; empty if it has none.
  std::string ref{};
  // The member's; unset for a callback.
  std::optional<std::int64_t> number{};
  // Whether the job is a member's, or one that the end of the workflow submitted.
  std::string role{};
};

// The numbers of a workflow's members, by state.
struct MemberCounts {
  std::int64_t blocked = 0;
  std::int64_t active = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
};

// What a claimed job is to its workflow.
struct ClaimedWorkflow {
  // The workflow's.
  std::int64_t generation = 0;
  // The workflow's when the job was submitted.
  std::string state{};
  // For a callback, the number of members by state.
  std::optional<MemberCounts> counts{};
  // For a callback, refs of members that failed, at most 20.
  std::vector<std::string> failed{};
  std::string id{};
  // The workflow's; empty if it has none.
  std::string name{};
  // The member's; empty if it has none.
  std::string ref{};
  // The member's; unset for a callback.
  std::optional<std::int64_t> number{};
  // Whether the job is a member's, or one that the end of the workflow submitted.
  std::string role{};
};

// What a job of a workflow needs, with its result.
struct Parent {
  // Its job; empty if it never had one.
  std::string id{};
  // `blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need
  // can't be met any more, the workflow stopped, or a call skipped it.
  std::string state{};
  // Why a member has failed or was skipped; empty if nothing is known. `refused`: its job was, at
  // its release. `by_call`: a call, or the ack of a member that it needs, skipped it.
  // `growth_refused`: its job succeeded, and the workflow refused what the ack added.
  std::string reason{};
  // If it succeeded. Together at most 1 MiB with a job. Raw JSON.
  std::string result{};
  // Why the result is left out: `size`, or `unreachable` for now, or its job is `pruned`.
  std::string omitted{};
};

// One fact of the event log.
struct Event {
  // A position, opaque.
  std::string id{};
  // When it happened.
  std::optional<Timestamp> at{};
  // What happened.
  std::string type{};
  // The queue's name, if it is about one.
  std::string queue{};
  // The job's id, if it is about one.
  std::string job_id{};
  // The job's type.
  std::string job_type{};
  // The attempt's number.
  std::optional<int> attempt{};
  // The worker's name.
  std::string worker{};
  // What else is known, by the type of the event. Raw JSON.
  std::string data{};
  // The complete object as the server sent it.
  std::string json{};
};

// A job as described by the server.
struct Job {
  // A UUIDv7.
  std::string id{};
  // The queue's name.
  std::string queue{};
  // The type's name.
  std::string type{};
  // `scheduled` waits for `run_at`, `retrying` for its backoff, `blocked` for other jobs. Terminal
  // are `succeeded`, `dead`, `cancelled` and `expired` (not started before `expires_at`).
  std::string state{};
  // Lower runs first. -32,768 to 32,767.
  int priority = 0;
  // The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
  // are unset, `message` of an error or a log line is empty. Always `true`.
  bool redacted = false;
  // The number of started attempts, without those that were snoozed or released.
  int attempt = 0;
  // The most attempts. 1 to 1,000.
  int max_attempts = 0;
  // The number of expired leases; at the queue's `max_crashes` the job is dead, `worker_lost`.
  int crashes = 0;
  // Rises with every retry by hand.
  std::int64_t generation = 0;
  // Rises with every change; `ETag` and `If-Match` carry it.
  std::int64_t version = 0;
  // When it was submitted.
  std::optional<Timestamp> created_at{};
  // When it is, or was, due.
  std::optional<Timestamp> run_at{};
  // When it expires if it has not started; unset: never.
  std::optional<Timestamp> expires_at{};
  // The last start.
  std::optional<Timestamp> started_at{};
  // When it ended; unset until then.
  std::optional<Timestamp> finished_at{};
  // Unset unless running.
  std::optional<Timestamp> lease_expires_at{};
  // The worker's name (see WorkerName); empty unless running.
  std::string worker{};
  // Whether it was cancelled while it ran.
  bool cancel_requested = false;
  // The progress that was reported last; unset if none was.
  std::optional<Progress> progress{};
  // Why the last attempt failed; unset if none did.
  std::optional<JobError> last_error{};
  // Unset if the queue's policy applies.
  std::optional<RetryPolicy> retry{};
  // Unset if the queue's length applies.
  std::optional<Milliseconds> lease{};
  // The bound on one attempt; unset if there is none.
  std::optional<Milliseconds> timeout{};
  // Its unique key; unset if it has none.
  std::optional<Unique> unique{};
  // Names to find the job by. At most 32 entries.
  std::vector<std::string> tags{};
  // The client's own strings, at most 8 KiB.
  Meta meta{};
  // W3C trace context of the submission. Left out if it had none.
  std::string traceparent{};
  // The schedule that made the job. Left out if none did.
  std::optional<JobSchedule> schedule{};
  // The workflow that the job belongs to. Left out if it belongs to none.
  std::optional<JobWorkflow> workflow{};
  // With `include=payload`. Raw JSON.
  std::optional<std::string> payload{};
  // With `include=result`; unset until there is one. Raw JSON.
  std::optional<std::string> result{};
  // With `include=attempts`.
  std::vector<Attempt> attempts{};
  // With `include=logs`.
  std::vector<LogLine> logs{};
  // With `include=events`.
  std::vector<Event> events{};
  // The limits that a job must pass to start, its queue's included; each name once. `key` is
  // required if the limit counts by key, and forbidden otherwise. At most 8 entries.
  std::vector<JobLimit> limits{};
  // Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
  // submission; priority does not count among them. 1 to 128 characters.
  std::string order_key{};
  // `hold`: while the job waits for its next attempt, its successors wait too. `pass`: they run.
  // Default `hold`.
  std::string order_on_failure{};
  // The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
  // characters.
  std::string fair_key{};
  // The complete object as the server sent it.
  std::string json{};

  // succeeded, dead, cancelled or expired; or pruned: already removed, and known only by its key.
  bool is_final() const;
};

// The numbers of a queue's jobs, by state.
struct QueueCounts {
  // Wait for their time.
  std::int64_t scheduled = 0;
  // Wait for a worker.
  std::int64_t ready = 0;
  // Have a lease.
  std::int64_t running = 0;
  // Wait for their next attempt.
  std::int64_t retrying = 0;
  // Wait for other jobs.
  std::int64_t blocked = 0;
  // Have succeeded, and are kept.
  std::int64_t succeeded = 0;
  // Have failed for good, and are kept.
  std::int64_t dead = 0;
  // Were cancelled, and are kept.
  std::int64_t cancelled = 0;
  // Did not start in time, and are kept.
  std::int64_t expired = 0;
};

// Averages over the last minute.
struct QueueRates {
  // New jobs a second.
  double submitted_per_s = 0;
  // Attempts that began, a second.
  double started_per_s = 0;
  // Attempts that succeeded, a second.
  double succeeded_per_s = 0;
  // Attempts that failed, a second.
  double failed_per_s = 0;
};

// A queue as described by the server.
struct Queue {
  // The queue's name.
  std::string name{};
  // Whether the server hands out none of its jobs.
  bool paused = false;
  // Why it is paused; empty if it is not, or no reason was given.
  std::string pause_reason{};
  // The numbers of its jobs, by state.
  QueueCounts counts{};
  // How long the oldest ready job has been due; unset if none is ready.
  std::optional<Milliseconds> oldest_ready_age{};
  // Its rates over the last 60 s.
  QueueRates rates{};
  // All its settings, with their defaults. Raw JSON.
  std::string settings{};
  // Rises with every change of the settings, pause or resume.
  std::int64_t version = 0;
  // The complete object as the server sent it.
  std::string json{};
};

// A schedule's specification. `job.type` and either `cron` or `every` are required; the server's
// defaults apply to empty and unset members.
struct NewSchedule {
  // Five fields (minute, hour, day of month, month, day of week), or six with the second first. A
  // field is a list of `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`).
  // Days of month may be `L` (the last), `15W` (the working day nearest the 15th) and `LW`; days of
  // week `5#3` (the third Friday) and `5L` (the last Friday): 0 and 7 are Sunday, 5 is Friday. `?`
  // is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If day of month or day of
  // week begins with `*`, a day must match both, else either. An expression that never comes is
  // refused. At most 512 bytes.
  std::string cron{};
  // The interval, at most 10 years. The instants are its whole multiples, counted from `start_at`,
  // else from the Unix epoch: a restart or an edit moves none.
  std::optional<Milliseconds> every{};
  // The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters.
  std::string timezone{};
  // The job to submit at each instant.
  NewJob job{};
  // No instant is before it. Default none.
  std::optional<Timestamp> start_at{};
  // No instant is after it; then the schedule is `ended`. Not before `start_at`. Default none.
  std::optional<Timestamp> end_at{};
  // How much later than its instant a job may come. The delay follows from the schedule and the
  // instant. It must be less than the gap between an instant and the next. Default `0`. 0 to
  // 86,400,000 ms.
  std::optional<Milliseconds> jitter{};
  // An instant that could not be fired for longer than this is missed, and `missed` decides on it.
  // Before that it is only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
  std::optional<Milliseconds> missed_after{};
  // The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
  // `missed_limit`. Default `one`.
  std::string missed{};
  // With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the
  // runs, with a count. Default `100`. 1 to 1,000.
  std::optional<int> missed_limit{};
  // What happens at an instant while the job or workflow of the instant before has not ended:
  // `allow` the new job beside it, `skip` the instant, `queue` it (one waits until the job has
  // ended, later ones are skipped), or `replace` the job: cancel it, and submit the new one when it
  // has ended. Default `allow`.
  std::string overlap{};
  // The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
  // Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
  // time, and a gap has none. Default `run`.
  std::string dst_gap{};
  // The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
  // for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
  // and are due both times. Default `once`.
  std::string dst_overlap{};
  // Whether the schedule is paused. If left out, a new schedule is not paused, and an existing one
  // stays as it is. Default `false`.
  std::optional<bool> paused{};
  // The owner: a name that `PUT /v1/schedules` and filters of lists use. In a set it may be left
  // out, or be the set's. Default none. 1 to 128 characters.
  std::string managed_by{};
};

// A schedule as described by the server.
struct Schedule {
  // The schedule's name.
  std::string name{};
  // The job that it submits, as it was given. Left out if it creates workflows. Raw JSON.
  std::string job{};
  // The workflow that it creates, as it was given. Left out if it submits jobs. Raw JSON.
  std::string workflow{};
  // No instant is before it.
  std::optional<Timestamp> start_at{};
  // No instant is after it.
  std::optional<Timestamp> end_at{};
  // Whether somebody has paused it.
  bool paused = false;
  // The owner; empty if it has none.
  std::string managed_by{};
  // Rises with every change of the specification, pause or resume; `ETag` and `If-Match` carry it.
  // Firing leaves it alone.
  std::int64_t version = 0;
  // `ended`: no instant is left. `broken`: the server can't compute the instants, and `error` says
  // why; the schedule does not fire until that is fixed.
  std::string state{};
  // The reason of the pause; empty if it is not paused, or none was given.
  std::string reason{};
  // Why it is `broken` (say, a zone that is no longer there); else empty.
  std::string error{};
  // When it was made.
  std::optional<Timestamp> created_at{};
  // The last change of `version`.
  std::optional<Timestamp> updated_at{};
  // The newest instant that made a job or workflow; unset before the first.
  std::optional<Timestamp> last_scheduled_at{};
  // The job of `last_scheduled_at`, which the queue may have forgotten; empty before the first, and
  // if that was a workflow.
  std::string last_job_id{};
  // The workflow of `last_scheduled_at`. Left out if there is none.
  std::string last_workflow_id{};
  // The next instants, at most five, without jitter. For a paused schedule, those that it would
  // have; none if it is `ended` or `broken`. At most 5 entries.
  std::vector<Timestamp> next{};
  // The schedule in words.
  std::string description{};
  // Sentences about settings that are valid but probably mistakes, and one that begins with
  // `delayed` if the server has no room to fire it. Left out if there are none.
  std::vector<std::string> warnings{};
  // Five fields (minute, hour, day of month, month, day of week), or six with the second first. A
  // field is a list of `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`).
  // Days of month may be `L` (the last), `15W` (the working day nearest the 15th) and `LW`; days of
  // week `5#3` (the third Friday) and `5L` (the last Friday): 0 and 7 are Sunday, 5 is Friday. `?`
  // is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If day of month or day of
  // week begins with `*`, a day must match both, else either. An expression that never comes is
  // refused. At most 512 bytes.
  std::string cron{};
  // The interval, at most 10 years. The instants are its whole multiples, counted from `start_at`,
  // else from the Unix epoch: a restart or an edit moves none.
  std::optional<Milliseconds> every{};
  // The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters.
  std::string timezone{};
  // How much later than its instant a job may come. The delay follows from the schedule and the
  // instant. It must be less than the gap between an instant and the next. Default `0`. 0 to
  // 86,400,000 ms.
  std::optional<Milliseconds> jitter{};
  // An instant that could not be fired for longer than this is missed, and `missed` decides on it.
  // Before that it is only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
  std::optional<Milliseconds> missed_after{};
  // The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
  // `missed_limit`. Default `one`.
  std::string missed{};
  // With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the
  // runs, with a count. Default `100`. 1 to 1,000.
  int missed_limit = 0;
  // What happens at an instant while the job or workflow of the instant before has not ended:
  // `allow` the new job beside it, `skip` the instant, `queue` it (one waits until the job has
  // ended, later ones are skipped), or `replace` the job: cancel it, and submit the new one when it
  // has ended. Default `allow`.
  std::string overlap{};
  // The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
  // Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
  // time, and a gap has none. Default `run`.
  std::string dst_gap{};
  // The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
  // for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
  // and are due both times. Default `once`.
  std::string dst_overlap{};
  // The job's queue; empty: the default queue.
  std::string queue{};
  // The job's type.
  std::string type{};
  // The job's payload, raw JSON; empty: null.
  std::string payload{};
  // The complete object as the server sent it.
  std::string json{};
};

// The result of an instant.
struct ScheduleRun {
  // The instant; with `count`, the newest of them.
  std::optional<Timestamp> scheduled_at{};
  // When this was decided.
  std::optional<Timestamp> at{};
  // The job, if one was submitted; else empty.
  std::string job_id{};
  // The workflow, if one was created. Left out if none was.
  std::string workflow_id{};
  // `submitted`: a job or workflow was made. `replaced`: a job was made after the previous one was
  // cancelled. `skipped_overlap`: no job, because of `overlap`; also if the instant waited and a
  // later one replaced it. `skipped_missed`: no job, because the instant was missed and `missed`
  // skips it. `refused`: the job could not be submitted, for instance because the queue was full.
  // The schedule retries it until the next instant, and only then makes this entry.
  std::string outcome{};
  // With `skipped_missed`, how many instants the entry stands for, if not one.
  std::optional<std::int64_t> count{};
  // With `refused`, why.
  std::string error{};
};

// Asks when an expression or interval would be due; nothing is stored.
struct PreviewSchedule {
  // As of a schedule. At most 512 characters.
  std::string cron{};
  // As of a schedule, counted from the Unix epoch. At most 10 years.
  std::optional<Milliseconds> every{};
  // The IANA name of the zone. Default `UTC`. 1 to 64 characters.
  std::string timezone{};
  // The instants at this time or later. Default now.
  std::optional<Timestamp> from{};
  // How many instants to show, at most. Default `5`. 1 to 1,000.
  std::optional<std::int64_t> count{};
  // The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
  // Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
  // time, and a gap has none. Default `run`.
  std::string dst_gap{};
  // The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
  // for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
  // and are due both times. Default `once`.
  std::string dst_overlap{};
};

// The meaning of an expression.
struct SchedulePreview {
  // The schedule in words.
  std::string description{};
  // The instants, oldest first. At most 1,000 entries.
  std::vector<Timestamp> next{};
  // As for a schedule; also the effect of clock changes within a year on times of day. Left out if
  // there are none.
  std::vector<std::string> warnings{};
  // The complete object as the server sent it.
  std::string json{};
};

// The result of a backfill.
struct BackfillAnswer {
  // The number of new jobs. 0 to 1,000.
  std::int64_t submitted = 0;
  // The number of instants passed over, since their job still exists.
  std::int64_t existing = 0;
  // Whether instants of the range are left.
  bool more = false;
  // The complete object as the server sent it.
  std::string json{};
};

// The names of the changed schedules.
struct ScheduleChanges {
  // Schedules that are new.
  std::vector<std::string> created{};
  // Schedules that were changed.
  std::vector<std::string> updated{};
  // Schedules that needed no change.
  std::vector<std::string> unchanged{};
  // The owner's schedules that the set does not name, with `prune`.
  std::vector<std::string> deleted{};
  // The complete object as the server sent it.
  std::string json{};
};

// A job that a worker holds a lease on.
struct RunningJob {
  std::string id{};
  std::string queue{};
  std::string type{};
  int attempt = 0;
  std::optional<Timestamp> started_at{};
  std::optional<Timestamp> lease_expires_at{};
};

// A token bucket of starts.
struct Rate {
  // Starts in each period. 1 to 1,000,000,000.
  int limit = 0;
  // The period. 1 to 86,400,000 ms.
  std::optional<Milliseconds> per{};
  // The most starts at once after a pause; `limit` by default. 1 to 1,000,000,000.
  std::optional<int> burst{};
};

// Stops the starts of jobs while too many attempts fail.
struct Breaker {
  // The part of attempts that may fail, above 0. At most 1.
  double failure_rate = 0;
  // The fewest attempts that say anything. 1 to 100,000.
  int min_attempts = 0;
  // How far back attempts count. 1,000 to 3,600,000 ms.
  std::optional<Milliseconds> window{};
  // How long nothing starts. 100 to 86,400,000 ms.
  std::optional<Milliseconds> open{};
  // Jobs that run after that; the breaker closes if all succeed. 1 to 1,000.
  int probes = 0;
};

// The settings of a limit; unset members are no bounds.
struct LimitSettings {
  // Each key has slots and a bucket of its own. Default `false`.
  std::optional<bool> per_key{};
  // Other bounds by key; an absent bound is the same as for every key. Raw JSON.
  std::string keys{};
  // The most live leases at a time; unset is no bound. 1 to 1,000,000.
  std::optional<int> concurrency{};
  // The rate of starts; unset is no bound.
  std::optional<Rate> rate{};
  // Unset is none.
  std::optional<Breaker> breaker{};
  // A retry budget: the rate of starts after a job's first; unset is no bound.
  std::optional<Rate> retry_rate{};
};

// A limit as described by the server, with its use.
struct Limit {
  std::string name{};
  bool per_key = false;
  // Other bounds by key; an absent bound is the same as for every key. Raw JSON.
  std::string keys{};
  // Rises with every change; `ETag` and `If-Match` carry it.
  std::int64_t version = 0;
  // The most live leases at a time; unset is no bound. 1 to 1,000,000.
  std::optional<int> concurrency{};
  // The rate of starts; unset is no bound.
  std::optional<Rate> rate{};
  // Unset is none.
  std::optional<Breaker> breaker{};
  // A retry budget: the rate of starts after a job's first; unset is no bound.
  std::optional<Rate> retry_rate{};
  bool paused = false;
  std::string pause_reason{};
  std::optional<Timestamp> paused_until{};
  // Live leases.
  std::int64_t in_use = 0;
  // The number of ready jobs that name it.
  std::int64_t waiting = 0;
  // When the rate allows the next start; unset when it does now, or there is none.
  std::optional<Timestamp> next_token_at{};
  // Empty without a breaker.
  std::string breaker_state{};
  // When an open breaker lets probes through.
  std::optional<Timestamp> open_until{};
  // The end of a pause, or of a worker's `slow_down`; the later one.
  std::optional<Timestamp> blocked_until{};
  // The complete object as the server sent it.
  std::string json{};
};

// Why a job is not running.
struct Why {
  std::string id{};
  // `scheduled` waits for `run_at`, `retrying` for its backoff, `blocked` for other jobs. Terminal
  // are `succeeded`, `dead`, `cancelled` and `expired` (not started before `expires_at`).
  std::string state{};
  std::optional<Timestamp> at{};
  // Sentences for a person.
  std::string summary{};
  // Every reason why the job waits, in the order in which a claim meets it. Empty: the next claim
  // of its queue and type gets it. Raw JSON.
  std::string blocking{};
  // `no_worker`: nobody has asked for its queue and type for a minute. Raw JSON.
  std::string notes{};
  // The complete object as the server sent it.
  std::string json{};
};

// A worker as the server sees it. (`Worker` is the one that this library runs.)
struct SeenWorker {
  // The worker's id; if its token is limited to queues, followed by `~` and the token's id. Use
  // this name to tell the worker to be quiet or to stop.
  std::string id{};
  std::vector<std::string> queues{};
  // Empty if the worker takes every type.
  std::vector<std::string> types{};
  std::string state{};
  std::optional<Timestamp> first_seen_at{};
  std::optional<Timestamp> last_seen_at{};
  std::vector<RunningJob> running{};
  std::string host{};
  std::optional<std::int64_t> pid{};
  std::string sdk{};
  // The version of the user's program, not of the SDK.
  std::string version{};
  Meta labels{};
  // The complete object as the server sent it.
  std::string json{};
};

}  // namespace millrace::sdk
