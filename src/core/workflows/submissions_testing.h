// For tests: submissions and messages as the machine keeps and sends them, without a format.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/bounds.h"
#include "core/workflows/submissions.h"
#include "digest/fingerprint.h"

namespace millrace::core {

// Keeps submissions and messages, and puts only their numbers into bytes.
class SubmissionsForTests final : public Submissions {
 public:
  SharedBytes keep(const JobSpec& spec) const {
    specs_.push_back(spec);
    return SharedBytes(std::to_string(specs_.size() - 1));
  }
  std::optional<JobSpec> read(const SharedBytes& job) const override {
    if (job == SharedBytes("unreadable")) return std::nullopt;
    return specs_.at(std::stoul(std::string(job.view())));
  }
  JobSpec box_of(const JobSpec& spec) const override {
    return box(box_id_of(spec.id, spec.queue.view()), "submission", keep(spec));
  }
  JobId box_id_of(const JobId& id, std::string_view queue) const override {
    JobId made = id;
    const Fingerprint mixed = fingerprint("box", queue);
    for (std::size_t i = 9; i < 16; ++i) made.bytes[i] ^= mixed.bytes[i];
    return made;
  }
  JobSpec box_of(const MemberMessage& message, const JobId& id) const override {
    messages_.push_back(message);
    return box(id, "members", SharedBytes(std::to_string(messages_.size() - 1)));
  }
  const MemberMessage& message(const SharedBytes& payload) const {
    return messages_.at(std::stoul(std::string(payload.view())));
  }

 private:
  static JobSpec box(const JobId& id, const char* type, SharedBytes payload) {
    JobSpec box;
    box.id = id;
    box.queue = SharedBytes("~outbox");
    box.type = SharedBytes(type);
    box.payload = std::move(payload);
    box.max_attempts = kMaxAttempts;
    return box;
  }
  mutable std::deque<JobSpec> specs_;
  mutable std::deque<MemberMessage> messages_;  // an address stays
};

}  // namespace millrace::core
