#include "service/made_tokens.h"

#include <string>
#include <utility>
#include <vector>

#include "service/token_document.h"

namespace millrace::service {

CatalogTokens::CatalogTokens(const Catalog& catalog, const Clock& clock, Logger log)
    : catalog_(catalog), clock_(clock), log_(std::move(log)) {}

MadeTokens::View CatalogTokens::view() const {
  View view;
  const Steady heard = catalog_.heard_at();
  if (heard == Steady::min()) return view;
  view.stale = clock_.steady() - heard > kTokensStale;
  auto snapshot = catalog_.snapshot();
  const MutexLock lock(mutex_);
  if (snapshot != snapshot_) {
    book_ = read(*snapshot);
    snapshot_ = std::move(snapshot);
  }
  view.book = book_;
  return view;
}

std::shared_ptr<const TokenBook> CatalogTokens::read(const CatalogSnapshot& snapshot) const {
  std::vector<TokenDocument> documents;
  snapshot.each(core::CatalogKind::kToken, [&](const core::CatalogEntry& entry) {
    documents.push_back({entry.name.view(), entry.body.view(), entry.version});
  });
  std::vector<std::string> faults;
  TokenBook book = book_of(documents, faults);
  for (const std::string& fault : faults) {
    log_.error("the server does not take a token of the store", {{"reason", fault}});
  }
  if (book_ != nullptr) book.take_uses_of(*book_);
  return std::make_shared<const TokenBook>(std::move(book));
}

}  // namespace millrace::service
