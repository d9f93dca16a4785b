// Operations of workers: claims, heartbeats, acks, polls, and their forms for a single job.
#pragma once

#include <optional>
#include <vector>

#include "api/worker.h"
#include "service/caller.h"
#include "service/parents.h"
#include "service/visibility.h"

namespace millrace::service {

// The results of the items of a batch.
struct ItemAnswers {
  std::vector<std::optional<api::Problem>>
      refused;             // by item: the problem that prevented a request to its shard, if any
  std::vector<JobId> ids;  // by item
  core::ItemsReply reply;  // of the other items, in order

  // Calls refused(id, problem) or done(reply) for each item, in the order of the request.
  template <typename Refused, typename Done>
  void visit(const Refused& refused_item, const Done& done) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (refused[i]) {
        refused_item(ids[i], *refused[i]);
        continue;
      }
      const core::ItemReply& item = reply.items[next++];
      item.refusal ? refused_item(ids[i], problem_of(item)) : done(item);
    }
  }

 private:
  static api::Problem problem_of(const core::ItemReply& item);
};

// Returns jobs with their payloads, once there is room for the answer. Jobs that cannot be sent, or
// only with little time left on their lease, are given back without counting the attempt.
Task<Answered<Claimed>> claim(Caller& caller, const api::Claim& claim);
std::size_t payload_bytes(const core::ClaimReply& claim);

Task<Answered<ItemAnswers>> heartbeat(Caller& caller,
                                      const std::vector<api::Item<api::Heartbeat>>& items);
Task<Answered<ItemAnswers>> ack(Caller& caller, const std::vector<api::Item<api::Ack>>& items);

struct PollAnswer {
  ItemAnswers acks;
  ItemAnswers heartbeats;
  ItemAnswers logs;
  Claimed claimed;  // without jobs if they cannot be handed out
  std::vector<engine::WorkerCommand> commands;
};
// `worker`: the id that the worker chose; must stay valid until the answer arrives.
Task<Answered<PollAnswer>> poll(Caller& caller, std::string_view worker, const api::Poll& poll);

Task<Answered<JobAnswer>> finish_job(Caller& caller, const api::Ack& ack, api::Include include);
// If the heartbeat asks for it, waits until a user cancels the job.
Task<Answered<JobAnswer>> heartbeat_job(Caller& caller, const api::Heartbeat& heartbeat,
                                        api::Include include);

}  // namespace millrace::service
