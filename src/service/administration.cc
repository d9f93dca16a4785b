#include "service/administration.h"

#include <algorithm>
#include <utility>

#include "service/audit.h"
#include "service/visibility.h"

namespace millrace::service {

ReadinessAnswer readiness(const Caller& caller) {
  Readiness found = caller.services.operations.readiness();
  ReadinessAnswer answer;
  answer.draining = found.draining || caller.services.draining;
  answer.ready = !answer.draining && std::ranges::all_of(found.checks, &ReadinessCheck::ok);
  // Callers without a token learn only yes or no.
  if (caller.services.tokens.empty() || caller.access != nullptr) {
    answer.checks = std::move(found.checks);
  }
  return answer;
}

Answered<api::Configuration> configuration(const Caller& caller) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) return refused(admitted);
  return caller.services.operations.configuration();
}

Answered<api::Cluster> nodes(const Caller& caller) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) return refused(admitted);
  return caller.services.operations.cluster();
}

Task<Answered<std::string>> metrics(Caller& caller) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  auto collect = [&](const std::stop_token&) { return caller.services.operations.metrics_text(); };
  auto text = co_await caller.read(Lane::kSearches, collect);
  co_return text;
}

Task<Answered<api::Diagnosis>> diagnosis(Caller& caller) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  auto look = [&](const std::stop_token&) { return caller.services.operations.diagnosis(); };
  auto found = co_await caller.read(Lane::kSearches, look);
  co_return found;
}

Task<Answered<BackupDone>> backup(Caller& caller, const std::string& path) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  auto copy = [&](const std::stop_token&) { return caller.services.operations.backup(path); };
  auto done = co_await caller.read(Lane::kSearches, copy);
  if (!done) co_return refused(done);
  if (*done) co_await note_audit(caller, about("store.backed_up", "store", path));
  co_return std::move(*done);
}

Task<Answered<api::Cluster>> set_draining(Caller& caller, const std::string& node, bool draining) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  auto set = [&](const std::stop_token&) {
    return caller.services.operations.set_draining(node, draining);
  };
  auto cluster = co_await caller.read(Lane::kLookups, set);
  if (!cluster) co_return refused(cluster);
  if (*cluster) {
    co_await note_audit(caller, about(draining ? "node.drained" : "node.undrained", "node", node));
  }
  co_return std::move(*cluster);
}

}  // namespace millrace::service
