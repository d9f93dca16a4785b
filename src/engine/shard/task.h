// A task: the work of one request in a step, as core commands plus the loop's own data.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/request.h"
#include "engine/routing/reply_address.h"
#include "engine/shard/inbox_order.h"
#include "store/event_codec.h"

namespace millrace::engine {

// A long list of ids or jobs is decided in parts, each small enough for a row; this collects their
// answers.
struct Gather {
  core::Reply reply;
  bool refused = false;  // a part was refused and the caller answered; the remaining parts are not
                         // decided
};

struct Task {
  enum class Kind : std::uint8_t {
    kCommand,
    kClaim,  // one claim, which may wait
    kPoll,   // see Poll: in the order of its members
    kOther,  // not a command: see `other`
  };
  Kind kind{};
  ReplyAddress reply_to = {};
  std::vector<core::Command> commands = {};
  Duration wait{};
  WorkerInfo worker = {};                    // kClaim, kPoll
  bool claims = false;                       // kPoll: its last command is a claim
  bool goodbye = false;                      // kPoll
  std::shared_ptr<Gather> gather = nullptr;  // of the parts decided so far; null: not split
  bool more = false;                         // a part, but not the last one
  Request other = {};                        // kOther
  std::optional<FromInbox> from_inbox = {};  // kCommand: see Shard::offer
};

Task make_task(Request request, ReplyAddress reply_to);

// Splits off the first part of a task that has more than `ids` ids; `task` keeps the rest. None:
// the task is short enough.
std::optional<Task> split_ids(Task& task, std::size_t ids);
// The same for a submission that may be stored job by job; the limit is in bytes of a row.
std::optional<Task> split_jobs(Task& task, std::size_t bytes);

// Whether to answer a refusal of the task: true for the first refused part only.
bool refuse_once(Task& task);
// The answer for `why`. If earlier parts may have been done, it must not say that nothing was done.
Unavailable told_of(const Task& task, Unavailable why);
// Whether the task is a part of a request that was refused.
bool is_refused(const Task& task);

// Adds a part's reply to those before it.
void gather_into(core::Reply& whole, core::Reply part);

// The bytes that the commands may add to a row, without retried jobs.
std::size_t row_bytes(const Task& task);

// For an inbox row, the queue of the job or workflow that it brings; empty for other tasks.
std::string_view brings_job_of(const Task& task);

// The oldest store format that can express everything that the task's commands may cause.
store::EventFormat format_of(const Task& task);

// The task never changes anything.
bool reads_only(const Task& task);
// The task ends or extends running work, so it continues while the shard drains; a poll's claim
// does not.
bool finishes_work(const Task& task);

}  // namespace millrace::engine
