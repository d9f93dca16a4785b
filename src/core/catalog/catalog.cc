// Commands and events of the catalog.
#include "core/catalog/catalog.h"

#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/applier.h"
#include "core/bounds.h"
#include "core/decider.h"

namespace millrace::core {
namespace {

Reply refused_entry(Rejection why, RefusalDetail detail = RefusalDetail::kNone) {
  CatalogReply reply;
  reply.refusal = {why, {}, detail};
  return reply;
}

bool conflicts(const CatalogEntry* entry, const std::optional<std::uint64_t>& if_version) {
  return if_version && *if_version != (entry == nullptr ? 0 : entry->version);
}

}  // namespace

CatalogReply Decider::catalog_reply(const CatalogKey& key, bool created) const {
  CatalogReply reply;
  reply.created = created;
  if (const CatalogEntry* const entry = state_.catalog.find(key)) reply.entries.push_back(*entry);
  reply.total = state_.catalog.size();
  return reply;
}

Reply Decider::operator()(const PutCatalogEntry& command) {
  const CatalogKey key{command.kind, command.name};
  const CatalogEntry* const entry = state_.catalog.find(key);
  if (conflicts(entry, command.if_version)) return refused_entry(Rejection::kVersionConflict);
  const bool created = entry == nullptr;
  if (created && state_.catalog.count(command.kind) >= kMaxCatalogEntries) {
    return refused_entry(Rejection::kTooManyEntries, RefusalDetail::kTooManyEntries);
  }
  if (created || entry->body != command.body) {
    emit(CatalogPut{command.kind, command.name, command.body});
  }
  return catalog_reply(key, created);
}

Reply Decider::operator()(const DeleteCatalogEntry& command) {
  const CatalogKey key{command.kind, command.name};
  const CatalogEntry* const entry = state_.catalog.find(key);
  if (entry == nullptr) return refused_entry(Rejection::kNotFound);
  if (conflicts(entry, command.if_version)) return refused_entry(Rejection::kVersionConflict);
  emit(CatalogDeleted{command.kind, command.name});
  return catalog_reply(key, false);
}

// The audit entry follows: see Machine::decide.
Reply Decider::operator()(const NoteAudit&) { return CatalogReply{}; }

Reply Decider::operator()(const GetCatalog& command) {
  CatalogReply reply;
  std::size_t bytes = 0;
  state_.catalog.walk_changed(command.since, [&](const CatalogEntry& entry) {
    reply.more = bytes >= kMaxCatalogPageBytes;
    if (reply.more) return false;
    bytes += entry.name.size() + entry.body.size();
    reply.entries.push_back(entry);
    return true;
  });
  reply.total = state_.catalog.size();
  return reply;
}

void Applier::operator()(const CatalogPut& event) {
  const CatalogKey key{event.kind, event.name};
  const CatalogEntry* const before = state_.catalog.find(key);
  CatalogEntry entry;
  entry.kind = event.kind;
  entry.name = event.name;
  entry.body = event.body;
  entry.version = before == nullptr ? 1 : before->version + 1;
  entry.created_at = before == nullptr ? at_ : before->created_at;
  entry.updated_at = at_;
  // The counter that orders the jobs serves here too: it never goes back.
  entry.revision = state_.facts.next_ord++;
  state_.catalog.put(std::move(entry));
  state_.changes.catalog.insert(key);
}

void Applier::operator()(const CatalogDeleted& event) {
  const CatalogKey key{event.kind, event.name};
  MILLRACE_CHECK(state_.catalog.find(key) != nullptr);
  state_.catalog.remove(key);
  if (!mutated(Mutant::kCatalogEntryKept)) state_.changes.catalog.insert(key);
}

}  // namespace millrace::core
