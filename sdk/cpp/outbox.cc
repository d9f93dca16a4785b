#include "outbox.h"

#include <algorithm>
#include <utility>

#include "constants.h"

namespace millrace::sdk {
std::size_t size_of(const Ack& ack) {
  std::size_t size = ack.result.size() + 256;
  if (ack.error) size += ack.error->message.size() + ack.error->stack.size();
  for (const WorkerLogLine& line : ack.logs) size += line.message.size() + 64;
  for (const NewJob& job : ack.enqueue) size += job.payload.size() + 1'024;
  for (const NewMember& member : ack.grow.members) {
    size += member.job.payload.size() + 1'024 + member.needs.size() * 160;
  }
  return size;
}

void Outbox::add(OutgoingAck ack) { acks_.push_back(std::move(ack)); }

void Outbox::give_back(std::vector<OutgoingAck> acks) {
  for (auto ack = acks.rbegin(); ack != acks.rend(); ++ack) acks_.push_front(std::move(*ack));
}

std::vector<OutgoingAck> Outbox::take() {
  std::vector<OutgoingAck> taken;
  std::size_t bytes = 0;
  while (!acks_.empty() && taken.size() < kMostItems) {
    bytes += size_of(acks_.front().ack);
    if (!taken.empty() && bytes > kMostOutcomeBytes) break;
    taken.push_back(std::move(acks_.front()));
    acks_.pop_front();
  }
  return taken;
}

void Outbox::add_alone(OutgoingAck ack) { alone_.push_back(std::move(ack)); }

std::vector<OutgoingAck> Outbox::take_alone(SteadyTime now) {
  std::vector<OutgoingAck> taken;
  const auto first = std::ranges::min_element(alone_, {}, &OutgoingAck::since);
  if (first == alone_.end() || first->since > now) return taken;
  taken.push_back(std::move(*first));
  alone_.erase(first);
  return taken;
}

SteadyTime Outbox::due_alone() const {
  const auto first = std::ranges::min_element(alone_, {}, &OutgoingAck::since);
  return first == alone_.end() ? SteadyTime::max() : first->since;
}

SteadyTime Outbox::due() const {
  if (acks_.empty() || acks_.size() >= kManyOutcomes) return due_without_delay();
  return acks_.front().since + delay_;
}

SteadyTime Outbox::due_without_delay() const {
  return acks_.empty() ? SteadyTime::max() : acks_.front().since;
}

}  // namespace millrace::sdk
