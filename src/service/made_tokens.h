// The tokens of the catalog, as a TokenBook.
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "service/catalog.h"
#include "service/tokens.h"

namespace millrace::service {

// If the node has not heard from the first shard for this long, a token may have been revoked
// without the node's knowledge.
constexpr std::chrono::seconds kTokensStale{15};

// Any thread.
class CatalogTokens final : public MadeTokens {
 public:
  // The arguments must outlive this object.
  CatalogTokens(const Catalog& catalog, const Clock& clock, Logger log);

  View view() const override;

 private:
  std::shared_ptr<const TokenBook> read(const CatalogSnapshot& snapshot) const
      MILLRACE_REQUIRES(mutex_);

  const Catalog& catalog_;
  const Clock& clock_;
  const Logger log_;
  mutable Mutex mutex_;
  // The snapshot from which the book was made.
  mutable std::shared_ptr<const CatalogSnapshot> snapshot_ MILLRACE_GUARDED_BY(mutex_);
  mutable std::shared_ptr<const TokenBook> book_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::service
