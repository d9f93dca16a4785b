// The names of methods and scopes.
#include <array>

#include "api/method.h"
#include "api/scope.h"

namespace millrace::api {

std::string_view name_of(Method method) {
  constexpr std::array<std::string_view, 7> kNames = {"GET",   "HEAD",   "POST", "PUT",
                                                      "PATCH", "DELETE", "other"};
  return kNames.at(static_cast<std::size_t>(method));
}

std::string_view name_of(Scope scope) {
  constexpr std::array<std::string_view, 7> kNames = {"none",    "submit", "work",   "read",
                                                      "operate", "admin",  "payload"};
  return kNames.at(static_cast<std::size_t>(scope));
}

}  // namespace millrace::api
