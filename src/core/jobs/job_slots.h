// Jobs as the machine holds them: a compact slot each, plus a separate allocation for rarely used
// members.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"

namespace millrace::core {

struct TypeLane;      // ready_index.h
struct WorkerLeases;  // shard_state.h

enum class SlotIndex : std::uint32_t {};
inline constexpr SlotIndex kNoSlot{0xffffffff};

// The sizes of the running attempt's log lines, used to bound the log; not durable.
struct LogSizes {
  std::deque<std::pair<std::uint32_t, std::uint32_t>> lines;  // (seq, bytes)
  std::uint64_t bytes = 0;
};

// A job's cold members, plus the machine's own data for such a job.
struct Activity : JobCold {
  WorkerLeases* holder = nullptr;       // of the live lease
  std::unique_ptr<LogSizes> log_sizes;  // null: the running attempt has logged nothing
};

struct JobSlot {
  JobId id;
  std::uint64_t ord = 0;  // 0: the slot is free
  Time created_at{};
  Time run_at{};
  SharedBytes payload;
  TypeLane* lane = nullptr;  // its queue and type
  std::shared_ptr<const RetryPolicy> retry;
  std::shared_ptr<const JobExtras> extras;
  std::unique_ptr<Activity> activity;
  std::uint32_t payload_bytes = 0;  // also when memory has dropped the payload
  std::int32_t lease_ms = 0;
  std::uint32_t version = 1;
  std::uint32_t generation = 1;
  std::uint16_t attempt = 0;
  std::uint16_t max_attempts = 0;
  std::uint16_t crashes = 0;
  std::int16_t priority = 0;
  State state = State::kReady;
  bool cancel_requested : 1 = false;
  bool dirty : 1 = false;   // in the list of changes
  bool stored : 1 = false;  // the tables have, or may have, a row of this job
  // payload_taken: the payload is in changes that are being stored. payload_stored: the tables have
  // it, so memory may drop it (`payload` is then empty).
  bool payload_taken : 1 = false;
  bool payload_stored : 1 = false;

  Activity& active() {
    if (activity == nullptr) activity = std::make_unique<Activity>();
    return *activity;
  }
  bool started() const { return activity != nullptr && activity->latest.n > 0; }
  // The machine has given the job a place.
  bool is_ordered() const { return extras != nullptr && extras->place.has_value(); }
  const std::optional<UniqueRule>& unique() const {
    static const std::optional<UniqueRule> kNone;
    return extras == nullptr ? kNone : extras->unique;
  }
};
static_assert(sizeof(JobSlot) <= 136,
              "a ready job must stay within 200 bytes with its index entries");

// Slots in pages: growing moves no slot, so a reference stays valid until release().
class SlotPool {
 public:
  SlotIndex acquire() {
    if (free_.empty()) grow();
    const SlotIndex index = free_.back();
    free_.pop_back();
    return index;
  }
  void release(SlotIndex index) {
    at(index) = JobSlot{};
    free_.push_back(index);
  }
  // An upper bound of all indexes: each smaller index is in use or free.
  std::uint32_t size() const { return static_cast<std::uint32_t>(pages_.size()) * kPageSlots; }
  std::size_t unused() const { return free_.size(); }
  // Prefetches a slot that the caller is about to read.
  void prefetch(SlotIndex index) const {
    const JobSlot& slot = at(index);
    __builtin_prefetch(&slot);
    __builtin_prefetch(&slot.activity);
  }
  JobSlot& at(SlotIndex index) {
    const auto i = static_cast<std::uint32_t>(index);
    return pages_[i / kPageSlots][i % kPageSlots];
  }
  const JobSlot& at(SlotIndex index) const {
    const auto i = static_cast<std::uint32_t>(index);
    return pages_[i / kPageSlots][i % kPageSlots];
  }

 private:
  static constexpr std::uint32_t kPageSlots = 1024;

  void grow() {
    const auto first = static_cast<std::uint32_t>(pages_.size()) * kPageSlots;
    MILLRACE_CHECK(first < static_cast<std::uint32_t>(kNoSlot) - kPageSlots);
    pages_.push_back(std::make_unique<JobSlot[]>(kPageSlots));
    for (std::uint32_t i = kPageSlots; i > 0; --i) free_.push_back(SlotIndex{first + i - 1});
  }

  std::vector<std::unique_ptr<JobSlot[]>> pages_;
  std::vector<SlotIndex> free_;
};

}  // namespace millrace::core
