#include "cli/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kNoteColumns = 60;
constexpr sdk::Milliseconds kLongestWait{30'000};  // of one request
constexpr sdk::Milliseconds kPause{500};           // before asking a server again that is away
constexpr sdk::Milliseconds kAwayLimit{30'000};    // for how long it may be away

// What a list says beside the state.
std::string list_note(const sdk::Job& job, sdk::Timestamp now) {
  if (job.state == "scheduled" || job.state == "retrying") {
    std::string note = relative_time(job.run_at, now);
    if (job.last_error) note += ": " + job.last_error->message;
    return printable(note, kNoteColumns);
  }
  if (job.state == "running") return job.worker.empty() ? "" : "on " + printable(job.worker);
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

std::string error_text(const sdk::Job& job) {
  if (!job.last_error) return {};
  const sdk::JobError& error = *job.last_error;
  return printable(fmt::format("{}: {} (attempt {})", error.type, error.message, error.attempt));
}

}  // namespace

std::string job_table(const std::vector<sdk::Job>& jobs, sdk::Timestamp now) {
  Table table({{"ID"},
               {"STATE"},
               {"QUEUE"},
               {"TYPE"},
               {"ATTEMPT", Align::kRight},
               {"SUBMITTED"},
               {"NOTE"}});
  for (const sdk::Job& job : jobs) {
    table.add({printable(job.id), printable(job.state), printable(job.queue), printable(job.type),
               fmt::format("{}/{}", job.attempt, job.max_attempts),
               relative_time(job.created_at, now), list_note(job, now)});
  }
  return table.text();
}

std::string job_details(const sdk::Job& job, sdk::Timestamp now) {
  Properties lines;
  lines.add("id", printable(job.id));
  lines.add("state",
            job.state + (job.cancel_requested && !job.is_final() ? ", to be cancelled" : ""));
  lines.add("queue", printable(job.queue));
  lines.add("type", printable(job.type));
  if (job.priority != 0) lines.add("priority", std::to_string(job.priority));
  lines.add("attempt", fmt::format("{} of {}", job.attempt, job.max_attempts));
  if (job.crashes > 0) lines.add("workers lost", std::to_string(job.crashes));
  lines.add("submitted", time_for_people(job.created_at, now));
  if (!job.started_at || job.state == "retrying") {
    lines.add("due", time_for_people(job.run_at, now));
  }
  lines.add("expires", time_for_people(job.expires_at, now));
  lines.add("started", time_for_people(job.started_at, now));
  lines.add("finished", time_for_people(job.finished_at, now));
  lines.add("worker", printable(job.worker));
  lines.add("lease until", time_for_people(job.lease_expires_at, now));
  lines.add("progress", progress_text(job));
  lines.add("tags", joined(job.tags));
  lines.add("meta", meta_text(job.meta));
  lines.add("last error", error_text(job));
  if (job.payload) lines.add("payload", printable(*job.payload));
  if (job.result) lines.add("result", printable(*job.result));
  return lines.text();
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
        client.job(id, {.include = {"payload", "result"}, .until_final = true, .wait = wait});
    if (job) {
      if (job->is_final()) return std::move(*job);
      if (timeout && steady_clock::now() - began >= *timeout) return std::nullopt;
      last_answer = steady_clock::now();
      // A server that is about to stop lets nobody wait.
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
      note((ids.size() > 1 ? id + ": " : "") + explain(done.error()));
      session.exit_code = session.exit_code == 0 || session.exit_code == code ? code : kFailure;
    }
    if (succeeded > 0 && succeeded < ids.size()) session.exit_code = kPartlyFailed;
  });
}

}  // namespace millrace::cli
