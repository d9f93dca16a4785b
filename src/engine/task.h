// A task: what one request asks of a step, as core commands and what the loop itself adds to them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/asker.h"
#include "engine/inbox_order.h"
#include "engine/request.h"
#include "store/event_codec.h"

namespace millrace::engine {

// A long list of ids or jobs is decided in parts, each small enough for a row; the answer is
// gathered.
struct Gather {
  core::Reply reply;
  bool refused = false;  // a part was, and the asker told so: the other parts are not decided
};

struct Task {
  enum class Kind : std::uint8_t {
    kCommand,  // one command
    kClaim,    // one claim, which may wait
    kPoll,     // see Poll: in the order of its members
    kOther,    // no command: `other`
  };
  Kind kind{};
  Asker asker = {};
  std::vector<core::Command> commands = {};
  Duration wait{};
  WorkerInfo worker = {};                    // kClaim, kPoll
  bool claims = false;                       // kPoll: its last command is a claim
  bool goodbye = false;                      // kPoll
  std::shared_ptr<Gather> gather = nullptr;  // of the parts decided before; null: it was not split
  bool more = false;                         // a part, and not the last one
  Request other = {};                        // kOther
  std::optional<FromInbox> from_inbox = {};  // kCommand: see Shard::offer
};

Task make_task(Request request, Asker asker);

// Splits off the first part of a task that names more than `ids` ids; what stays in `task` is the
// rest. None: it is short enough.
std::optional<Task> split_ids(Task& task, std::size_t ids);
// The same for a submission that may be stored job by job, by bytes of a row.
std::optional<Task> split_jobs(Task& task, std::size_t bytes);

// Whether the asker is to be told that the task is refused: not for a second part.
bool refuse_once(Task& task);
// What its asker is told instead of `why`, which says that nothing was done: parts may have been.
Unavailable told_of(const Task& task, Unavailable why);
// A part of what was refused.
bool is_refused(const Task& task);

// Adds a part's reply to those before it.
void gather_into(core::Reply& whole, core::Reply part);

// What the commands may add to a row, retried jobs left out.
std::size_t row_bytes(const Task& task);

// Of a row of the inbox, the queue whose job it brings; empty: another task.
std::string_view brings_job_of(const Task& task);

// The oldest level of the store that can say what the task's commands may bring about.
store::EventFormat format_of(const Task& task);

// Changes nothing, whatever the state.
bool reads_only(const Task& task);
// Ends or keeps alive what runs: goes on while the shard drains. A poll's claim does not.
bool finishes_work(const Task& task);

}  // namespace millrace::engine
