#include "service/tokens.h"

#include <utility>

namespace millrace::service {
namespace {

SharedAccess shared(const std::shared_ptr<const TokenBook>& book, const Access* access) {
  if (access == nullptr) return nullptr;
  return {book, access};
}

}  // namespace

Tokens::Tokens(TokenBook configured, const MadeTokens* made)
    : made_(made), configured_(std::make_shared<const TokenBook>(std::move(configured))) {}

std::shared_ptr<const TokenBook> Tokens::configured() const {
  const MutexLock lock(mutex_);
  return configured_;
}

void Tokens::configure(TokenBook tokens) {
  tokens.take_uses_of(*configured());
  auto next = std::make_shared<const TokenBook>(std::move(tokens));
  const MutexLock lock(mutex_);
  configured_ = std::move(next);
}

MadeTokens::View Tokens::made() const {
  if (made_ == nullptr) return {nullptr, false};
  return made_->view();
}

Tokens::Found Tokens::authenticate(std::string_view credentials, Time now) const {
  const auto configured_book = configured();
  Found found;
  found.access = shared(configured_book, configured_book->authenticate(credentials, now));
  if (found.access != nullptr) {
    found.known = true;
    found.access->note_use(now);
    return found;
  }
  const auto id = token_id_in(credentials);
  if (!id) return found;
  found.known = configured_book->access_of(*id) != nullptr;
  if (found.known || made_ == nullptr) return found;
  const MadeTokens::View view = made_->view();
  // With a stale view, a good token may have been revoked since, and an unknown one may have been
  // made.
  found.unsure = view.stale || view.book == nullptr;
  if (found.unsure) return found;
  found.known = view.book->access_of(*id) != nullptr;
  found.access = shared(view.book, view.book->authenticate(credentials, now));
  if (found.access != nullptr) found.access->note_use(now);
  return found;
}

SharedAccess Tokens::authenticate_certified(std::string_view name, Time now) const {
  const auto book = configured();
  return shared(book, book->authenticate_certified(name, now));
}

bool Tokens::holds(const SharedAccess& access, Time now) const {
  if (access == nullptr) return true;
  if (!access->live(now)) return false;
  const SharedAccess today = find(access->id());
  if (today == nullptr) return false;
  if (today == access) return true;
  return today->covers(access->settings()) && today->live(now);
}

SharedAccess Tokens::find(std::string_view id) const {
  const auto book = configured();
  if (const Access* const access = book->access_of(id)) return shared(book, access);
  const MadeTokens::View view = made();
  if (view.book == nullptr) return nullptr;
  return shared(view.book, view.book->access_of(id));
}

}  // namespace millrace::service
