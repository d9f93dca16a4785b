// The members of the catalog's records: see describe.h.
#pragma once

#include <tuple>

#include "core/catalog/catalog.h"
#include "core/describe.h"
#include "core/reply_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<CatalogKind>) { return CatalogKind::kErrorGroup; }

constexpr auto describe(Of<CatalogEntry>) {
  return std::tuple(Field(1, &CatalogEntry::kind), Field(2, &CatalogEntry::name),
                    Field(3, &CatalogEntry::body), Field(4, &CatalogEntry::version),
                    Field(5, &CatalogEntry::revision), Field(6, &CatalogEntry::created_at),
                    Field(7, &CatalogEntry::updated_at));
}

constexpr auto describe(Of<CatalogReply>) {
  return std::tuple(Field(1, &CatalogReply::refusal), Field(2, &CatalogReply::created),
                    Field(3, &CatalogReply::entries), Field(4, &CatalogReply::total),
                    Field(5, &CatalogReply::more));
}

}  // namespace millrace::core
