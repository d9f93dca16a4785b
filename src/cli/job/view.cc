#include "cli/job/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kNoteColumns = 60;
constexpr std::size_t kAttemptsShown = 10;
constexpr std::int64_t kFirstGeneration = 1;
constexpr sdk::Milliseconds kLongestWait{30'000};  // per request
constexpr sdk::Milliseconds kPause{500};           // before an unreachable server is asked again
constexpr sdk::Milliseconds kAwayLimit{30'000};    // how long it may be unreachable

// The text that a list shows next to the state.
std::string list_note(const sdk::Job& job, sdk::Timestamp now) {
  if (job.state == "scheduled" || job.state == "retrying") {
    std::string note = relative_time(job.run_at, now);
    if (job.last_error) note += ": " + job.last_error->message;
    return printable(note, kNoteColumns);
  }
  if (job.state == "running") {
    std::string note =
        job.started_at ? "for " + format_duration_for_people(now - *job.started_at) : "";
    if (!job.worker.empty()) note += (note.empty() ? "on " : " on ") + job.worker;
    return printable(note, kNoteColumns);
  }
  if (job.state != "succeeded" && job.last_error) {
    return printable(job.last_error->message, kNoteColumns);
  }
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  return printable(fmt::format("{}", fmt::join(words, ", ")));
}

std::string meta_text(const sdk::Meta& meta) {
  std::vector<std::string> parts;
  parts.reserve(meta.size());
  for (const auto& [name, value] : meta) parts.push_back(fmt::format("{}={}", name, value));
  return joined(parts);
}

std::string progress_text(const sdk::Job& job) {
  if (!job.progress) return {};
  std::string text = job.progress->percent ? fmt::format("{:g} %", *job.progress->percent) : "";
  if (!job.progress->message.empty()) {
    if (!text.empty()) text += ", ";
    text += printable(job.progress->message);
  }
  return text;
}

// An operator's retry restarts the count of attempts, so an earlier failure is of another
// generation.
bool is_before_retry(const sdk::Job& job, const sdk::JobError& error) {
  if (job.generation <= kFirstGeneration) return false;
  return job.state == "running" ? error.attempt >= job.attempt : error.attempt > job.attempt;
}

std::string error_text(const sdk::Job& job) {
  if (!job.last_error) return {};
  const sdk::JobError& error = *job.last_error;
  return printable(
      fmt::format("{}: {} (attempt {}{})", error.type, error.message, error.attempt,
                  is_before_retry(job, error) ? ", before the last manual retry" : ""));
}

std::string schedule_text(const sdk::Job& job) {
  if (!job.schedule) return {};
  std::string text = printable(job.schedule->name);
  if (job.schedule->scheduled_at) text += ", for " + format_rfc3339(*job.schedule->scheduled_at);
  return text;
}

// "member load of workflow 019c... nightly"
std::string workflow_text(const sdk::Job& job) {
  const sdk::JsonView workflow = sdk::JsonView(job.json)["workflow"];
  if (!workflow.is_object()) return {};
  std::string place = workflow["role"].string().value_or("");
  if (const auto number = workflow["number"].integer()) {
    const auto ref = workflow["ref"].string();
    place += " " + (ref ? *ref : fmt::format("@{}", *number));
  }
  const auto name = workflow["name"].string();
  return printable(fmt::format("{} of workflow {}{}", place, workflow["id"].string().value_or(""),
                               name ? " " + *name : ""));
}

std::string generation_text(const sdk::Job& job) {
  const std::int64_t retries = job.generation - kFirstGeneration;
  if (retries <= 0) return std::to_string(job.generation);
  return fmt::format("{} (retried manually {})", job.generation,
                     retries == 1 ? "once" : fmt::format("{} times", retries));
}

// The newest past attempts.
std::string attempts_text(const sdk::Job& job, sdk::Timestamp now) {
  if (job.attempts.empty()) return {};
  Table table({{"#", Align::kRight},
               {"ATTEMPT", Align::kRight},
               {"OUTCOME"},
               {"STARTED"},
               {"TOOK", Align::kRight},
               {.title = "WORKER", .least = 8},
               {.title = "ERROR", .least = 8}});
  const std::size_t first =
      job.attempts.size() > kAttemptsShown ? job.attempts.size() - kAttemptsShown : 0;
  for (std::size_t i = first; i < job.attempts.size(); ++i) {
    const sdk::Attempt& attempt = job.attempts[i];
    const auto end = attempt.finished_at ? attempt.finished_at : std::optional(now);
    table.add({std::to_string(attempt.n), std::to_string(attempt.attempt),
               printable(attempt.outcome), relative_time(attempt.started_at, now),
               attempt.started_at ? format_duration_for_people(*end - *attempt.started_at) : "-",
               attempt.worker.empty() ? "-" : printable(attempt.worker),
               attempt.error
                   ? printable(fmt::format("{}: {}", attempt.error->type, attempt.error->message))
                   : ""});
  }
  std::string text = "\n" + table.text(output_width());
  if (first > 0)
    text += fmt::format("The list has the newest {} of {}.\n", kAttemptsShown, job.attempts.size());
  return text;
}

Table whole_table(const std::vector<sdk::Job>& jobs, sdk::Timestamp now) {
  Table table({{"ID"},
               {"STATE"},
               {.title = "QUEUE", .least = 10},
               {.title = "TYPE", .least = 10},
               {"ATTEMPT", Align::kRight},
               {"SUBMITTED"},
               {.title = "NOTE", .least = 0}});
  for (const sdk::Job& job : jobs) {
    table.add({printable(job.id), printable(job.state), printable(job.queue), printable(job.type),
               fmt::format("{}/{}", job.attempt, job.max_attempts),
               relative_time(job.created_at, now), list_note(job, now)});
  }
  return table;
}

// For a terminal of 80 columns. An id is never cut, since users copy it.
Table short_table(const std::vector<sdk::Job>& jobs, sdk::Timestamp now, std::size_t gap) {
  const std::size_t least = gap > 1 ? 7 : 6;  // of a name
  Table table({{"ID"},
               {"STATE"},
               {.title = "QUEUE", .least = least},
               {.title = "TYPE", .least = least},
               {"TRY", Align::kRight},
               {"AGE", Align::kRight},
               {.title = "NOTE", .least = 0}},
              gap);
  for (const sdk::Job& job : jobs) {
    table.add({printable(job.id), printable(job.state), printable(job.queue), printable(job.type),
               fmt::format("{}/{}", job.attempt, job.max_attempts),
               job.created_at ? format_duration_for_people(
                                    std::max(now - *job.created_at, sdk::Milliseconds{0}))
                              : "-",
               list_note(job, now)});
  }
  return table;
}

// A refusal because of the job's state says which state that is, and what can be done instead.
std::string explain_on_job(sdk::Client& client, const sdk::Error& error, const std::string& id) {
  if (error.code != "invalid_state") return explain_on(error, "job", id);
  const auto job = client.get(id);
  if (!job) return explain(error);
  return fmt::format("job {} is {}, and that state does not allow this; {}", id, job->state,
                     job->is_final() ? "`millrace job retry` runs it again, and `millrace job "
                                       "delete` deletes it"
                                     : "`millrace job cancel` ends it");
}

}  // namespace

std::string job_table(const std::vector<sdk::Job>& jobs, sdk::Timestamp now, std::size_t width) {
  Table table = whole_table(jobs, now);
  for (const std::size_t gap : {2, 1}) {
    if (table.least_width() <= width) break;
    table = short_table(jobs, now, gap);
  }
  return table.text(width);
}

std::string job_details(const sdk::Job& job, sdk::Timestamp now) {
  // For a waiting job the figures are of an earlier attempt, and the labels say so.
  const bool waits = !job.is_final() && job.state != "running";
  const std::string last = waits ? "last " : "";
  Properties lines;
  lines.add("id", printable(job.id));
  lines.add(
      "state",
      job.state + (job.cancel_requested && !job.is_final() ? ", cancellation requested" : ""));
  lines.add("queue", printable(job.queue));
  lines.add("type", printable(job.type));
  lines.add("priority", std::to_string(job.priority));
  lines.add("attempt", fmt::format("{} of {}", job.attempt, job.max_attempts));
  lines.add("generation", generation_text(job));
  if (job.crashes > 0) lines.add("workers lost", std::to_string(job.crashes));
  lines.add("submitted", time_for_people(job.created_at, now));
  lines.add("schedule", schedule_text(job));
  lines.add("workflow", workflow_text(job));
  if (waits) lines.add("due", time_for_people(job.run_at, now));
  lines.add("expires", time_for_people(job.expires_at, now));
  lines.add(last + "started", time_for_people(job.started_at, now));
  if (job.is_final()) lines.add("finished", time_for_people(job.finished_at, now));
  lines.add("worker", printable(job.worker));
  lines.add("lease until", time_for_people(job.lease_expires_at, now));
  lines.add(last + "progress", progress_text(job));
  lines.add("tags", job.tags.empty() ? "-" : joined(job.tags));
  lines.add("meta", meta_text(job.meta));
  lines.add("last error", error_text(job));
  if (job.payload) lines.add("payload", printable(*job.payload));
  const bool has_result = job.result && *job.result != "null";
  if (has_result && job.is_final()) lines.add("result", printable(*job.result));
  const std::string stack = job.last_error ? stack_text(job.last_error->stack) : "";
  return lines.text() + stack + attempts_text(job, now);
}

std::string job_summary(const sdk::Job& job) {
  if (job.state == "succeeded") {
    return job.attempt <= 1 ? "succeeded" : fmt::format("succeeded at attempt {}", job.attempt);
  }
  if (!job.last_error) return job.state;
  return printable(
      fmt::format("{}: {}: {}", job.state, job.last_error->type, job.last_error->message));
}

sdk::Result<std::optional<sdk::Job>> wait_for_end(sdk::Client& client, std::string_view id,
                                                  std::optional<sdk::Milliseconds> timeout) {
  const auto began = steady_clock::now();
  auto last_answer = began;
  for (;;) {
    sdk::Milliseconds wait = kLongestWait;
    if (timeout) {
      const auto passed = std::chrono::floor<sdk::Milliseconds>(steady_clock::now() - began);
      wait = std::clamp(*timeout - passed, sdk::Milliseconds{0}, kLongestWait);
    }
    const auto asked = steady_clock::now();
    auto job =
        client.get(id, {.include = {"payload", "result"}, .until_final = true, .wait = wait});
    if (job) {
      if (job->is_final()) return std::move(*job);
      if (timeout && steady_clock::now() - began >= *timeout) return std::nullopt;
      last_answer = steady_clock::now();
      // A server that is about to stop answers waiting requests at once.
      if (last_answer - asked < wait / 2) std::this_thread::sleep_for(std::min(kPause, wait));
      continue;
    }
    const bool is_patient = steady_clock::now() - last_answer < kAwayLimit;
    if (!job.error().is_temporary() || !is_patient) return std::unexpected(job.error());
    if (timeout && steady_clock::now() - began >= *timeout) return std::unexpected(job.error());
    std::this_thread::sleep_for(kPause);
  }
}

int exit_code_of_end(const sdk::Job& job) {
  return job.state == "succeeded" ? kOk : kDidNotSucceed;
}

void for_each_job(Session& session, const std::vector<std::string>& ids, const Act& act) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    std::size_t succeeded = 0;
    for (const std::string& id : ids) {
      const auto done = act(client, id);
      if (done) {
        ++succeeded;
        if (!done->empty()) print_line(*done);
        continue;
      }
      const int code = exit_code_of(done.error());
      note((ids.size() > 1 ? id + ": " : "") + explain_on_job(client, done.error(), id));
      session.exit_code = session.exit_code == 0 || session.exit_code == code ? code : kFailure;
    }
    if (succeeded > 0 && succeeded < ids.size()) session.exit_code = kPartlyFailed;
  });
}

}  // namespace millrace::cli
