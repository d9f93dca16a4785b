// Guesses which claims were served when no survivor can tell. A dead life's answers are unknown:
// only the given jobs, their workers and the waiting claims are known. Several claims may fit the
// same jobs, and a wrong choice for an early event may leave no claim for a later one.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/routing/gateway.h"

namespace millrace::sim {

// A maximum bipartite matching of events and claims, grown event by event along augmenting paths
// (H. W. Kuhn, The Hungarian method for the assignment problem, 1955).
class Guesses {
 public:
  // Adds an event that any of these claims could have caused. False: no assignment explains all
  // events.
  bool add(std::vector<engine::Ticket> could_be) {
    could_be_.push_back(std::move(could_be));
    std::set<engine::Ticket> tried;
    return explain(could_be_.size() - 1, tried);
  }
  bool is_served(engine::Ticket ticket) const { return served_.contains(ticket); }

 private:
  bool explain(std::size_t event, std::set<engine::Ticket>& tried) {
    for (const engine::Ticket ticket : could_be_[event]) {
      if (!tried.insert(ticket).second) continue;
      const auto other = served_.find(ticket);
      if (other != served_.end() && !explain(other->second, tried)) continue;
      served_[ticket] = event;
      return true;
    }
    return false;
  }

  std::vector<std::vector<engine::Ticket>> could_be_;  // by event
  std::map<engine::Ticket, std::size_t> served_;       // the index of the event
};

}  // namespace millrace::sim
