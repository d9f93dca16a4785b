// Any bytes as the header Authorization, as a token's hash, and as its other settings; byte 0
// selects which. The live tokens are made here, so that inputs close to them can be tried: byte 0
// may also select one of them, overwritten with the bytes that follow.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/scope.h"
#include "base/ascii.h"
#include "base/check.h"
#include "service/auth.h"

namespace {

using namespace millrace;
using service::TokenBook;
using service::TokenSettings;

const Time kNow = time_from_ms(1'700'000'000'000);

struct Tokens {
  std::vector<service::NewToken> made;
  TokenBook book;
};

const Tokens& tokens() {
  static const Tokens kTokens = [] {
    std::vector<service::NewToken> made;
    std::vector<TokenSettings> settings;
    for (std::uint8_t i = 0; i < 2; ++i) {
      made.push_back(service::make_token({i, 7, 9}, {i, 0xab}));
      settings.push_back({"t" + std::to_string(i), made.back().hash, {"read"}, {"a*"}, {}});
    }
    settings[1].expires_at = kNow;  // expired
    return Tokens{std::move(made), std::move(*TokenBook::make(std::move(settings)))};
  }();
  return kTokens;
}

// Access requires the whole live token after the word "bearer".
void check_credentials(std::string_view credentials) {
  const service::Access* access = tokens().book.authenticate(credentials, kNow);
  const std::string& live = tokens().made[0].token;
  if (access == nullptr) {
    MILLRACE_CHECK(credentials != "Bearer " + live);
    return;
  }
  MILLRACE_CHECK(access->settings().name == "t0");
  MILLRACE_CHECK(credentials.ends_with(live));
  const std::string scheme = lowered(credentials.substr(0, credentials.size() - live.size()));
  MILLRACE_CHECK(scheme.starts_with("bearer "));
  MILLRACE_CHECK(scheme.find_first_not_of(' ', 6) == std::string::npos);
  MILLRACE_CHECK(access->allows(api::Scope::kRead) && !access->allows(api::Scope::kAdmin));
}

// "Bearer" and a live token, overwritten with the bytes of `changes`: position, value, and so on.
void check_changed(std::string_view changes) {
  std::string credentials = "Bearer " + tokens().made[0].token;
  const std::string whole = credentials;
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
    credentials[static_cast<std::uint8_t>(changes[i]) % credentials.size()] = changes[i + 1];
  }
  check_credentials(credentials);
  const service::Access* access = tokens().book.authenticate(credentials, kNow);
  // Only the token is case-sensitive.
  const bool same = credentials.substr(6) == whole.substr(6);
  MILLRACE_CHECK(access == nullptr || same);
}

void check_hash(std::string_view hash) {
  const auto book = TokenBook::make({{"t", std::string(hash), {"read"}, {}, {}}});
  if (!book) {
    MILLRACE_CHECK(book.error().message.starts_with("token \"t\": "));
    return;
  }
  MILLRACE_CHECK(hash.size() == tokens().made[0].hash.size());
  MILLRACE_CHECK(hash.substr(12, 8) == ":sha256:");
}

// One scope per line; after the first empty line, patterns of queues.
void check_settings(std::string_view lines) {
  TokenSettings settings{"t", tokens().made[0].hash, {}, {}, {}};
  std::vector<std::string>* into = &settings.scopes;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (end == 0 && into == &settings.scopes) {
      into = &settings.queues;
    } else {
      into->emplace_back(lines.substr(0, end));
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  const auto book = TokenBook::make({settings});
  if (!book) return;
  const service::Access* access = book->authenticate("Bearer " + tokens().made[0].token, kNow);
  MILLRACE_CHECK(access != nullptr);
  for (const api::Scope scope : {api::Scope::kSubmit, api::Scope::kWork, api::Scope::kRead,
                                 api::Scope::kOperate, api::Scope::kAdmin}) {
    const auto named = std::ranges::count(settings.scopes, api::name_of(scope));
    MILLRACE_CHECK(access->allows(scope) == (named > 0));
  }
  for (const std::string& glob : settings.queues) {
    MILLRACE_CHECK(!glob.empty() && glob.find('*') >= glob.size() - 1);
    MILLRACE_CHECK(access->allows_queue(glob));
  }
  if (settings.queues.empty()) MILLRACE_CHECK(access->allows_queue("any"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<char> memory(data + 1, data + size);
  const std::string_view text(memory.data(), memory.size());
  switch (data[0] % 4) {
    case 0:
      check_credentials(text);
      break;
    case 1:
      check_changed(text);
      break;
    case 2:
      check_hash(text);
      break;
    default:
      check_settings(text);
      break;
  }
  return 0;
}
