#include "sim/model/catalog.h"

#include <algorithm>
#include <vector>

#include "core/catalog/catalog_fields.h"
#include "core/same.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::Rejection;

Rejection ModelCatalog::conflict(const core::CatalogEntry* entry,
                                 const std::optional<std::uint64_t>& version) {
  const std::uint64_t is = entry == nullptr ? 0 : entry->version;
  return version && *version != is ? Rejection::kVersionConflict : Rejection::kNone;
}

Rejection ModelCatalog::put(const core::PutCatalogEntry& command, Model& model) {
  const core::CatalogKey key{command.kind, command.name};
  const auto found = entries_.find(key);
  const bool made = found == entries_.end();
  const Rejection why = conflict(made ? nullptr : &found->second, command.if_version);
  if (why != Rejection::kNone) return why;
  if (!made && found->second.body == command.body) return Rejection::kNone;
  marks_.hit(made ? Mark::kEntryMade : Mark::kEntryChanged);
  core::CatalogEntry& entry = entries_[key];
  entry.kind = command.kind;
  entry.name = command.name;
  entry.body = command.body;
  entry.version = made ? 1 : entry.version + 1;
  entry.revision = model.take_ord();
  if (made) entry.created_at = model.now();
  entry.updated_at = model.now();
  return Rejection::kNone;
}

Rejection ModelCatalog::remove(const core::DeleteCatalogEntry& command) {
  const auto found = entries_.find({command.kind, command.name});
  if (found == entries_.end()) return Rejection::kNotFound;
  const Rejection why = conflict(&found->second, command.if_version);
  if (why != Rejection::kNone) return why;
  marks_.hit(Mark::kEntryDeleted);
  entries_.erase(found);
  return Rejection::kNone;
}

void ModelCatalog::compare(const core::CatalogEntry& is, const core::CatalogEntry& shown) {
  demand(core::same(is, shown), "K1", "entry {} of the catalog is shown otherwise than it is",
         is.name.view());
}

void ModelCatalog::check_put(const core::PutCatalogEntry& command,
                             const core::CatalogReply& reply) const {
  demand(reply.entries.size() == 1 && reply.total == entries_.size(), "K1",
         "a put of {} is answered with {} entries of {}, not of {}", command.name.view(),
         reply.entries.size(), reply.total, entries_.size());
  compare(entries_.at({command.kind, command.name}), reply.entries.front());
}

void ModelCatalog::check(const core::GetCatalog& command, const core::CatalogReply& reply) const {
  std::vector<const core::CatalogEntry*> changed;
  for (const auto& [key, entry] : entries_) {
    if (entry.revision > command.since) changed.push_back(&entry);
  }
  std::ranges::sort(changed, {}, [](const core::CatalogEntry* entry) { return entry->revision; });
  demand(reply.total == entries_.size() && reply.entries.size() == changed.size() && !reply.more,
         "K1", "the catalog shows {} entries of {}, not {} of {}", reply.entries.size(),
         reply.total, changed.size(), entries_.size());
  for (std::size_t i = 0; i < changed.size(); ++i) compare(*changed[i], reply.entries[i]);
}

}  // namespace millrace::sim
