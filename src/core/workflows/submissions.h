// How the machine reads the submissions that it keeps as bytes, and sends messages to other shards.
// The engine knows the format (engine/shard/outbox.h).
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "core/command.h"

namespace millrace::core {

// Stateless and deterministic; any thread.
class Submissions {
 public:
  virtual ~Submissions() = default;
  // None: no version of the program can read it.
  virtual std::optional<JobSpec> read(const SharedBytes& job) const = 0;
  // The job that carries a submission to a queue of another shard.
  virtual JobSpec box_of(const JobSpec& spec) const = 0;
  // The id of the job that carries a job of this id to a queue.
  virtual JobId box_id_of(const JobId& id, std::string_view queue) const = 0;
  // The job that carries a message; `id` becomes its id.
  virtual JobSpec box_of(const MemberMessage& message, const JobId& id) const = 0;
};

}  // namespace millrace::core
