// Clients after the faults: they work on all jobs and make room for them.
#include <fmt/format.h>

#include <utility>

#include "sim/world/clients.h"

namespace millrace::sim {

engine::Request Clients::claim_all() const {
  engine::WaitingClaim request;
  for (std::uint32_t i = 0; i < swarm_.queues(); ++i) {
    request.claim.queues.emplace_back(fmt::format("q{}", i));
  }
  request.claim.limit = kLeasesRemembered;
  request.claim.worker = request.worker.id = SharedBytes("healer");
  return request;
}

std::vector<engine::Request> Clients::finish_all() {
  std::vector<engine::Request> requests;
  for (const Lease& lease : std::exchange(leases_, {})) {
    core::AckItem item;
    item.id = lease.id;
    item.token = lease.token;
    requests.emplace_back(core::Command(core::Ack{{std::move(item)}, core::Detail::kIds}));
  }
  return requests;
}

std::vector<engine::Request> Clients::resume_all() const {
  std::vector<engine::Request> requests;
  for (std::uint32_t i = 0; i < swarm_.queues(); ++i) {
    const SharedBytes queue(fmt::format("q{}", i));
    requests.emplace_back(core::Command(core::ResumeQueue{queue}));
    const bool bound = swarm_.of(Knob::kSchedules) > 0 || swarm_.of(Knob::kLimits) > 0;
    if (made_as_ == Ids::kNumbered && !bound) continue;
    // Otherwise a job in an outbox, or owed by a schedule, might wait for ever.
    core::SetQueue room;
    room.queue = queue;
    room.patch.max_ready.emplace();
    open_queue(room.patch, i % 2 == 0);
    requests.emplace_back(core::Command(std::move(room)));
  }
  return requests;
}

}  // namespace millrace::sim
