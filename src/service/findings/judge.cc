#include "service/findings/judge.h"

#include <algorithm>
#include <iterator>

namespace millrace::service {

void FindingList::finish(api::Findings& answer) {
  std::array<std::vector<api::Finding>, api::kSeverities> by_severity;
  for (std::size_t code = 0; code < api::kFindingCodes; ++code) {
    std::size_t room = most_;
    for (std::size_t severity = 0; severity < api::kSeverities; ++severity) {
      Kind& kind = kinds_[code][severity];
      const std::size_t kept = std::min(room, kind.kept.size());
      room -= kept;
      const auto end = kind.kept.begin() + static_cast<std::ptrdiff_t>(kept);
      std::move(kind.kept.begin(), end, std::back_inserter(by_severity[severity]));
      if (kept == kind.count) continue;
      answer.more.push_back({static_cast<api::FindingCode>(code),
                             static_cast<api::Severity>(severity),
                             static_cast<std::int64_t>(kind.count - kept)});
    }
  }
  for (std::vector<api::Finding>& findings : by_severity) {
    std::ranges::move(findings, std::back_inserter(answer.items));
  }
}

Takers::Taken& Takers::of(std::string_view queue) {
  const auto found = queues_.find(queue);
  return found != queues_.end() ? found->second : queues_[std::string(queue)];
}

namespace {

template <typename Taken, typename Types, typename ToText>
void take(Taken& taken, bool serves, const Types& types, const ToText& text) {
  taken.serves |= serves;
  taken.all_types |= types.empty();
  for (const auto& type : types) {
    if (taken.types.size() > kMostTypesTaken) return;
    if (!taken.types.contains(text(type))) taken.types.emplace(text(type));
  }
}

}  // namespace

void Takers::add(const engine::WorkerView& worker) {
  const bool serves = worker.state == engine::WorkerState::kActive;
  for (const SharedBytes& queue : worker.queues) {
    take(of(queue.view()), serves, worker.types, [](const SharedBytes& t) { return t.view(); });
  }
}

void Takers::add(const api::PushTarget& target) {
  for (const std::string& queue : target.queues) {
    take(of(queue), !target.paused, target.types,
         [](const std::string& type) { return std::string_view(type); });
  }
}

bool Takers::serve(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found != queues_.end() && found->second.serves;
}

const std::set<std::string, std::less<>>* Takers::types_of(std::string_view queue) const {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return nullptr;
  const Taken& taken = found->second;
  if (taken.all_types || taken.types.empty() || taken.types.size() > kMostTypesTaken)
    return nullptr;
  return &taken.types;
}

}  // namespace millrace::service
