// Forms of members that the wire has no call for: see store/wire.h. Like LatestAttempt in
// store/value_fields.h, each is a field() for the writer and one for the reader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/job.h"
#include "store/value_fields.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {

// One of several: a message with one field, whose number is 1 + the index. The order of the
// alternatives is part of the format.
template <typename... Alternatives>
void describe(WireWriter& wire, const std::variant<Alternatives...>& value) {
  const int field = static_cast<int>(value.index()) + 1;
  std::visit([&](const auto& alternative) { wire.message(field, alternative); }, value);
}

template <std::size_t Index, typename Variant>
void read_alternative(WireReader& wire, Variant& value) {
  wire.message(static_cast<int>(Index) + 1, value.template emplace<Index>());
}

template <typename... Alternatives>
void describe(WireReader& wire, std::variant<Alternatives...>& value) {
  const auto index = static_cast<std::size_t>(wire.next_field()) - 1;
  if (index >= sizeof...(Alternatives)) {
    if (wire.next_field() == 0) read_alternative<0>(wire, value);  // which says that it is missing
    wire.expect_end();
    return;
  }
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (void)((index == Index && (read_alternative<Index>(wire, value), true)) || ...);
  }(std::make_index_sequence<sizeof...(Alternatives)>());
}

template <typename Wire, Described<std::monostate> T>
void describe(Wire&, T&) {}

struct Ids {
  static void field(WireWriter& wire, int number, const std::vector<JobId>& ids) {
    for (const JobId& id : ids) wire.id(number, id);
  }
  static void field(WireReader& wire, int number, std::vector<JobId>& ids) {
    ids.clear();
    while (wire.next_field() == number) wire.id(number, ids.emplace_back());
  }
};

struct Text {
  static void field(WireWriter& wire, int number, const std::string& text) {
    wire.bytes(number, SharedBytes(text));
  }
  static void field(WireReader& wire, int number, std::string& text) {
    SharedBytes read;
    wire.bytes(number, read);
    text = read.view();
  }
};

struct SignedNumber {
  static void field(WireWriter& wire, int number, const std::optional<std::int64_t>& value) {
    std::optional<std::uint64_t> plain;
    if (value) plain = zigzag(*value);
    wire.number(number, plain);
  }
  static void field(WireReader& wire, int number, std::optional<std::int64_t>& value) {
    std::optional<std::uint64_t> plain;
    wire.number(number, plain);
    value.reset();
    if (plain) value = unzigzag(*plain);
  }
};

// An error that the machine will complete.
struct NewError {
  static void field(WireWriter& wire, int number, const std::shared_ptr<core::JobError>& error) {
    if (error != nullptr) wire.message(number, *error);
  }
  static void field(WireReader& wire, int number, std::shared_ptr<core::JobError>& error) {
    std::optional<core::JobError> read;
    wire.message(number, read);
    error = read ? std::make_shared<core::JobError>(std::move(*read)) : nullptr;
  }
};

// What a patch may set, also to "none".
template <typename Value>
struct Setting {
  std::optional<Value> value;

  static void field(WireWriter& wire, int number,
                    const std::optional<std::optional<Value>>& change) {
    if (change) wire.message(number, Setting{*change});
  }
  static void field(WireReader& wire, int number, std::optional<std::optional<Value>>& change) {
    std::optional<Setting> read;
    wire.message(number, read);
    change.reset();
    if (read) change.emplace(read->value);
  }
};
template <typename Wire, Described<Setting<Duration>> T>
void describe(Wire& wire, T& setting) {
  wire.duration(1, setting.value);
}
template <typename Wire, Described<Setting<std::uint32_t>> T>
void describe(Wire& wire, T& setting) {
  wire.number(1, setting.value);
}
template <typename Wire, Described<Setting<std::uint64_t>> T>
void describe(Wire& wire, T& setting) {
  wire.number(1, setting.value);
}

}  // namespace millrace::store
