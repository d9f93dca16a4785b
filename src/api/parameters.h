// Decoding of query strings in this room: a table of parameters per call; every fault is recorded
// with its parameter. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/time.h"

namespace millrace::api {

// The parameter being read.
struct Argument {
  std::string_view name;
  std::string_view value;  // decoded
  std::vector<FieldError>& faults;

  void fault(std::string detail) const;
};

enum class Repeated : std::uint8_t { kRefused, kTaken };

template <typename T>
struct Parameter {
  std::string_view name;
  void (*read)(const Argument& argument, T& out);
  Repeated repeated = Repeated::kRefused;
};

// The query string, split and decoded, in its order.
using Arguments = std::vector<std::pair<std::string, std::string>>;
Arguments split_query(std::string_view query_string, std::vector<FieldError>& faults);
std::string unknown_parameter(std::string_view name, std::span<const std::string_view> known);
Problem parameter_problem(std::vector<FieldError> faults);

template <typename T>
Decoded<T> decode_parameters(std::string_view query_string,
                             std::span<const Parameter<T>> parameters,
                             void (*check)(T& out, std::vector<FieldError>& faults) = nullptr) {
  T out{};
  std::vector<FieldError> faults;
  std::vector<std::string_view> known;
  for (const Parameter<T>& parameter : parameters) known.push_back(parameter.name);
  std::uint64_t seen = 0;
  for (const auto& [name, value] : split_query(query_string, faults)) {
    const Argument argument{name, value, faults};
    std::size_t index = 0;
    while (index < known.size() && known[index] != name) ++index;
    if (index == known.size()) {
      argument.fault(unknown_parameter(name, known));
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << index;
    if ((seen & bit) != 0 && parameters[index].repeated == Repeated::kRefused) {
      argument.fault("must be given once");
      continue;
    }
    seen |= bit;
    parameters[index].read(argument, out);
  }
  if (check != nullptr && faults.empty()) check(out, faults);
  if (!faults.empty()) return std::unexpected(parameter_problem(std::move(faults)));
  return out;
}

// The kinds of values. Each returns whether `out` was set; if not, it has recorded a fault.
bool take_integer(const Argument& argument, std::int64_t min, std::int64_t max, std::int64_t& out);
bool take_duration(const Argument& argument, std::int64_t min_ms, std::int64_t max_ms,
                   Duration& out);
bool take_time(const Argument& argument, std::optional<Time>& out);
bool take_boolean(const Argument& argument, bool& out);
bool take_name(const Argument& argument, std::string& out);
bool take_cursor(const Argument& argument, std::string& out);
// Calls `each` for each of the comma-separated values.
template <typename Each>
void take_list(const Argument& argument, Each&& each) {
  std::string_view rest = argument.value;
  for (;;) {
    const std::size_t comma = rest.find(',');
    each(Argument{argument.name, rest.substr(0, comma), argument.faults});
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace millrace::api
