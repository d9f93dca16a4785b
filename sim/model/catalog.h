// The expected content of the catalog, derived only from its commands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/command.h"
#include "core/reply.h"
#include "sim/model/model.h"
#include "sim/world/marks.h"

namespace millrace::sim {

class ModelCatalog {
 public:
  explicit ModelCatalog(Marks& marks) : marks_(marks) {}

  // Each carries out its command and returns the refusal, if any.
  core::Rejection put(const core::PutCatalogEntry& command, Model& model);
  core::Rejection remove(const core::DeleteCatalogEntry& command);

  // Each ends the run if the answer differs.
  void check_put(const core::PutCatalogEntry& command, const core::CatalogReply& reply) const;
  void check(const core::GetCatalog& command, const core::CatalogReply& reply) const;

 private:
  static void compare(const core::CatalogEntry& is, const core::CatalogEntry& shown);
  static core::Rejection conflict(const core::CatalogEntry* entry,
                                  const std::optional<std::uint64_t>& version);

  Marks& marks_;
  std::map<core::CatalogKey, core::CatalogEntry> entries_;
};

}  // namespace millrace::sim
