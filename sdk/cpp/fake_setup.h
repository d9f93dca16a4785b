// What an application declares at its start, as a Fake keeps it: queues, limits and schedules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/transport.h"

namespace millrace::sdk {

// Why a name of a limit that does not exist is refused, with 422 `unknown_limit`.
inline constexpr std::string_view kNoSuchLimit =
    "no limit has this name; check the spelling, or create the limit";

// Not thread-safe. A thing is a kind ("queues", "limits", "schedules") and a name.
class FakeSetup {
 public:
  // The answer to a request on a thing, or on all of a kind if `name` is empty; none: the fake has
  // no such call. `counts`: the numbers of the queue's jobs, as JSON.
  std::optional<Response> answer(const Request& request, std::string_view kind,
                                 const std::string& name, std::string_view counts);

  // Whether there is a limit of this name.
  bool has_limit(std::string_view name) const;

  // The member of a thing's settings or specification, raw JSON; empty: it is not set.
  std::string member_of(std::string_view kind, const std::string& name,
                        const std::string& member) const;

 private:
  using Members = std::map<std::string, std::string>;  // raw JSON by name
  struct Declared {
    Members members;
    std::int64_t version = 0;
  };
  using Key = std::pair<std::string, std::string>;  // kind, name

  Response put(const Key& key, Members members, std::string_view counts);
  Response list(std::string_view kind) const;
  Response apply(std::string_view body);
  std::string shown(const Key& key, const Declared& declared, std::string_view counts) const;

  std::map<Key, Declared> declared_;
};

}  // namespace millrace::sdk
