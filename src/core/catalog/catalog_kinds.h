// The kinds of commands about the store's documents and the audit: see kind.h. A node sends them in
// its own name, after it has checked the token. The origin names the object for the audit.
#pragma once

#include "core/command.h"
#include "core/kind.h"
#include "core/reply.h"
#include "core/row_bytes.h"

namespace millrace::core {

template <>
struct KindOf<PutCatalogEntry> : Row<CatalogReply, Route::kToOne, Effect::kWrites, Again::kNever> {
  static constexpr std::string_view kName = "put into the catalog";
  static constexpr std::string_view kDone = "set";
  static AuditObject object(const PutCatalogEntry& command) { return {"document", command.name}; }
  static std::size_t row_bytes(const PutCatalogEntry& command) {
    return kRefBytes + command.body.size();
  }
};

template <>
struct KindOf<DeleteCatalogEntry>
    : Row<CatalogReply, Route::kToOne, Effect::kWrites, Again::kNever> {
  static constexpr std::string_view kName = "delete from the catalog";
  static constexpr std::string_view kDone = "deleted";
  static AuditObject object(const DeleteCatalogEntry& command) {
    return {"document", command.name};
  }
  static std::size_t row_bytes(const DeleteCatalogEntry&) { return kRefBytes; }
};

template <>
struct KindOf<GetCatalog> : Row<CatalogReply, Route::kToOne, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "get the catalog";
};

template <>
struct KindOf<NoteAudit> : Row<CatalogReply, Route::kToOne, Effect::kEnds, Again::kNever> {
  static constexpr std::string_view kName = "make an entry of the audit";
};

}  // namespace millrace::core
