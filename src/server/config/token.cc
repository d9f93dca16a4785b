#include "server/config/token.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/random.h"

namespace millrace::server {
namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxCertifiedBytes = 253;  // as of a DNS name

std::string toml_array(const std::vector<std::string>& texts) {
  return fmt::format("[\"{}\"]", fmt::join(texts, "\", \""));
}

// The text needs no escapes in a TOML string or a log line.
bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

}  // namespace

IssuedToken issue_token(service::TokenSettings settings) {
  if (!settings.certificate.empty()) return {{}, std::move(settings)};
  std::array<std::uint8_t, 32> secret;
  std::array<std::uint8_t, 6> id;
  system_random_bytes(secret.data(), secret.size());
  system_random_bytes(id.data(), id.size());
  service::NewToken made = service::make_token(secret, id);
  OPENSSL_cleanse(secret.data(), secret.size());
  settings.hash = std::move(made.hash);
  return {std::move(made.token), std::move(settings)};
}

std::string token_toml(const service::TokenSettings& settings) {
  const bool certified = !settings.certificate.empty();
  std::string lines =
      fmt::format("[[tokens]]\nname = \"{}\"\n{} = \"{}\"\nscopes = {}\n", settings.name,
                  certified ? "certificate" : "hash",
                  certified ? settings.certificate : settings.hash, toml_array(settings.scopes));
  if (!settings.queues.empty()) lines += fmt::format("queues = {}\n", toml_array(settings.queues));
  if (!settings.sees_payloads) lines += "payload = false\n";
  if (settings.expires_at) {
    lines += fmt::format("expires_at = \"{}\"\n", format_rfc3339(*settings.expires_at));
  }
  return lines;
}

Status check_token(const service::TokenSettings& settings) {
  if (!is_plain(settings.name) || settings.name.size() > kMaxNameBytes) {
    return failure("a token's name must be 1 to 64 plain characters");
  }
  const std::string& certified = settings.certificate;
  if (!certified.empty() && (!is_plain(certified) || certified.size() > kMaxCertifiedBytes)) {
    return failure(
        fmt::format("token \"{}\": the certificate's name must be 1 to {} plain characters",
                    settings.name, kMaxCertifiedBytes));
  }
  for (const std::string& queue : settings.queues) {
    if (!is_plain(queue) || queue.find(' ') != std::string::npos) {
      return failure(fmt::format("token \"{}\": the pattern \"{}\" can't match the name of a queue",
                                 settings.name, queue));
    }
  }
  if (!settings.sees_payloads && std::ranges::count(settings.scopes, "payload") > 0) {
    return failure(
        fmt::format("token \"{}\": payload = false contradicts the scope payload", settings.name));
  }
  auto book = service::TokenBook::make({settings});
  if (!book) return std::unexpected(std::move(book.error()));
  return {};
}

}  // namespace millrace::server
