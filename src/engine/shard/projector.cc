#include "engine/shard/projector.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::engine {
namespace {

constexpr Duration kFirstBackoff{100};
constexpr Duration kMaxBackoff{5'000};
// The time between the starts of two flushes, as a multiple of the first one's duration; changes in
// between are written together. The tables stay within a second of the journal, unless flushes take
// that long.
constexpr int kApart = 10;
constexpr Duration kMostApart{800};

}  // namespace

bool Projector::should_take(Time now, Seq head, std::size_t rows) const {
  if (flush_ || head == projected_.seq) return false;
  return forced_ || rows >= flush_rows_ || (oldest_change_ && now >= old_enough_at());
}

void Projector::take(std::unique_ptr<const core::Changes> changes, Seq head,
                     const store::Checksum& checksum) {
  MILLRACE_CHECK(!flush_);
  const store::Progress to{head, checksum, changes->facts};
  flush_ = Flush{std::move(changes), base_, projected_.seq, to};
  flush_since_ = std::exchange(oldest_change_, std::nullopt);
  forced_ = false;
}

std::optional<Flush> Projector::hand_out(Seq durable, Time now) {
  if (!flush_ || handed_out_ || flush_->to.seq > durable || now < retry_at_) return std::nullopt;
  handed_out_ = true;
  handed_out_at_ = now;
  return flush_;
}

bool Projector::done(const Status& status, Time now) {
  MILLRACE_CHECK(handed_out_);
  handed_out_ = false;
  if (!status) {
    if (!failing_since_) failing_since_ = now;
    backoff_ = std::clamp(backoff_ * 2, kFirstBackoff, kMaxBackoff);
    retry_at_ = now + backoff_;
    return false;
  }
  projected_ = flush_->to;
  base_ = projected_.seq;
  flush_.reset();
  flush_since_.reset();
  failing_since_.reset();
  backoff_ = {};
  pause_until_ = handed_out_at_ + std::min(kMostApart, kApart * (now - handed_out_at_));
  return true;
}

std::optional<Time> Projector::next_time(Time now, Seq head, Seq durable, std::size_t rows) const {
  if (flush_) {
    if (handed_out_ || flush_->to.seq > durable) return std::nullopt;
    return std::max(now, retry_at_);
  }
  if (head == projected_.seq) return std::nullopt;
  if (should_take(now, head, rows)) return now;
  if (oldest_change_) return old_enough_at();
  return std::nullopt;
}

Time Projector::old_enough_at() const {
  return std::max(*oldest_change_ + flush_after_, pause_until_);
}

}  // namespace millrace::engine
