// Arbitrary values for tests: a member may hold any value of its type, including edge cases. The
// same seed gives the same values. A record's list (describe.h) names its members.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "core/event_fields.h"
#include "core/state_set.h"

namespace millrace::core {

class Arbitrary {
 public:
  explicit Arbitrary(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  bool coin() { return below(2) == 0; }

  // A value of any type that messages hold.
  template <typename T>
  T any() {
    T value{};
    fill(value);
    return value;
  }
  // Up to `most` values.
  template <typename T>
  std::vector<T> several(std::uint64_t most) {
    std::vector<T> made;
    for (std::uint64_t left = below(most + 1); left > 0; --left) made.push_back(any<T>());
    return made;
  }
  // A variant that holds the alternative of this index.
  template <std::size_t Index, typename Variant>
  Variant alternative() {
    return Variant(any<std::variant_alternative_t<Index, Variant>>());
  }

  SharedBytes bytes(std::uint64_t most = 40) {
    std::string content;
    for (std::uint64_t left = below(most + 1); left > 0; --left) {
      content.push_back(static_cast<char>(random_.next()));
    }
    return SharedBytes(content);
  }
  // Few different names, so that they repeat.
  SharedBytes name() { return SharedBytes(below(5) == 0 ? "" : "name" + std::to_string(below(9))); }

  Job job() { return any<Job>(); }
  EventBatch batch(std::uint64_t most_events) { return {any<Time>(), several<Event>(most_events)}; }

 private:
  template <typename T>
  T number() {
    switch (below(6)) {
      case 0:
        return std::numeric_limits<T>::max();
      case 1:
        return std::numeric_limits<T>::min();
      case 2:
        return static_cast<T>(below(3));
      case 3:
        return static_cast<T>(below(100'000));
      default:
        return static_cast<T>(random_.next() >> below(64));
    }
  }

  void fill(std::monostate&) {}
  void fill(bool& value) { value = coin(); }
  void fill(double& value) { value = static_cast<double>(below(1001)) / 10; }
  void fill(Time& value) { value = time_from_ms(number<std::int64_t>()); }
  void fill(Duration& value) { value = Duration{number<std::int64_t>()}; }
  void fill(SharedBytes& value) { value = bytes(below(10) == 0 ? 500 : 40); }
  void fill(std::string& value) { value = bytes().view(); }
  template <std::integral T>
  void fill(T& value) {
    value = number<T>();
  }
  template <typename T>
    requires std::is_enum_v<T>
  void fill(T& value) {
    if constexpr (Enumerated<T>) {
      constexpr auto kLast = static_cast<std::uint64_t>(last_of(Of<T>()));
      value = static_cast<T>(below(kLast + 1));
    } else {
      value = static_cast<T>(number<std::underlying_type_t<T>>());
    }
  }
  template <typename T, std::size_t Size>
  void fill(std::array<T, Size>& values) {
    for (T& value : values) fill(value);
  }
  void fill(JobId& value) { fill_raw(value.bytes); }
  void fill(Fingerprint& value) { fill_raw(value.bytes); }
  void fill(StateSet& value) { fill(value.left_out); }
  template <typename T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (coin()) fill(value.emplace());
  }
  template <typename T>
  void fill(std::shared_ptr<T>& value) {
    value = coin() ? nullptr : std::make_shared<T>(any<std::remove_const_t<T>>());
  }
  template <typename T>
  void fill(std::vector<T>& values) {
    values = several<T>(3);
  }
  template <typename First, typename Second>
  void fill(std::pair<First, Second>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <typename... Alternatives>
  void fill(std::variant<Alternatives...>& value) {
    using Fill = void (*)(Arbitrary&, std::variant<Alternatives...>&);
    static constexpr Fill kFills[] = {[](Arbitrary& make, std::variant<Alternatives...>& filled) {
      filled = make.any<Alternatives>();
    }...};
    kFills[below(sizeof...(Alternatives))](*this, value);
  }
  // Never null, unless the record allows it.
  void fill_policy(std::shared_ptr<const RetryPolicy>& value) {
    value = below(3) == 0 ? default_retry_policy()
                          : std::make_shared<const RetryPolicy>(any<RetryPolicy>());
  }
  template <typename T>
    requires(Described<T> && !std::same_as<T, MetaEntry>)
  void fill(T& record) {
    for_each_field<T>([&](auto constant) {
      constexpr auto kField = constant.value;
      auto& member = record.*kField.member;
      using Member = std::remove_cvref_t<decltype(member)>;
      constexpr bool kIsPolicy = std::same_as<Member, std::shared_ptr<const RetryPolicy>>;
      if constexpr (kField.form == Form::kName || kField.form == Form::kType) {
        member = name();
      } else if constexpr (kIsPolicy && kField.form != Form::kOwnPolicy) {
        fill_policy(member);
      } else if constexpr (kField.form != Form::kUnsent && kField.form != Form::kOfTomorrow) {
        fill(member);
      }
    });
    if constexpr (std::same_as<T, Job>) {
      if (coin()) record.latest = Attempt{};
    } else if constexpr (requires { static_cast<bool>(record); }) {
      if (!record) record = T{};  // a refusal with kNone has no other members
    }
  }

  void fill_raw(std::array<std::uint8_t, 16>& bytes) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.next());
  }

  Random random_;
};

}  // namespace millrace::core
