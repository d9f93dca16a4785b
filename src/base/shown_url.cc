#include "base/shown_url.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr std::string_view kHidden = "***";

bool is_plain_name(std::string_view name) {
  return !name.ends_with("password") &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// "user:password" as it may be shown. A user alone is a token for HTTP.
std::string shown_user(std::string_view user, bool is_database) {
  const std::string_view name = user.substr(0, user.find(':'));
  if (!is_database) return std::string(kHidden);
  if (name.size() == user.size()) return std::string(user);
  return std::string(name) + ":" + std::string(kHidden);
}

std::string shown_parameter(std::string_view parameter, bool is_database) {
  const std::size_t equals = parameter.find('=');
  const std::string_view name = parameter.substr(0, equals);
  if (is_database && equals != std::string_view::npos && is_plain_name(name)) {
    return std::string(parameter);
  }
  if (equals == std::string_view::npos) return std::string(kHidden);
  return std::string(name) + "=" + std::string(kHidden);
}

}  // namespace

std::string shown_url(std::string_view url) {
  const bool is_database = url.starts_with("postgres");
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  std::string shown(url.substr(0, begin));
  url.remove_prefix(begin);

  std::size_t question = std::min(url.find('?'), url.size());
  std::size_t at = url.substr(0, std::min(url.find('/'), question)).rfind('@');
  // A password with a "/" or "?" that is not encoded.
  if (at == std::string_view::npos) at = url.substr(0, question).rfind('@');
  if (at == std::string_view::npos && url.find(':') < question) at = url.rfind('@');
  if (at != std::string_view::npos) {
    shown += shown_user(url.substr(0, at), is_database);
    url.remove_prefix(at);
    question = std::min(url.find('?'), url.size());
  }
  shown += url.substr(0, question);
  if (question == url.size()) return shown;
  char separator = '?';
  for (std::string_view rest = url.substr(question + 1); !rest.empty();) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    shown += separator;
    shown += shown_parameter(rest.substr(0, end), is_database);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    separator = '&';
  }
  return shown;
}

}  // namespace millrace
