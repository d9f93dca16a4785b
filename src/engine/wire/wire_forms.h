// The wire forms that only messages between nodes need: see store/record_wire.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/describe.h"
#include "core/jobs/job.h"
#include "core/queues/queue.h"
#include "core/rejection.h"
#include "core/state_set.h"
#include "engine/request.h"
#include "engine/wire/peer_level.h"
#include "engine/wire/request_fields.h"
#include "store/record_wire.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {

// A variant: a message with one field, whose number is 1 plus the index. The order of the
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
    if (wire.next_field() == 0) read_alternative<0>(wire, value);  // which reports it missing
    wire.expect_end();
    return;
  }
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (void)((index == Index && (read_alternative<Index>(wire, value), true)) || ...);
  }(std::make_index_sequence<sizeof...(Alternatives)>());
}

template <typename Wire>
void describe(Wire&, const std::monostate&) {}

// --- Members of types that only nodes send to each other.

template <>
struct FieldForm<std::optional<std::int64_t>> {
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

// An error that the machine has not completed yet.
template <>
struct FieldForm<std::shared_ptr<core::JobError>> {
  static void field(WireWriter& wire, int number, const std::shared_ptr<core::JobError>& error) {
    if (error != nullptr) wire.message(number, *error);
  }
  static void field(WireReader& wire, int number, std::shared_ptr<core::JobError>& error) {
    std::optional<core::JobError> read;
    wire.message(number, read);
    error = read ? std::make_shared<core::JobError>(std::move(*read)) : nullptr;
  }
};

// A member of a patch, which may be set to "none".
template <typename Value>
struct Setting {
  std::optional<Value> value;
};
template <typename Value>
constexpr auto describe(core::Of<Setting<Value>>) {
  return std::tuple(core::Field(1, &Setting<Value>::value));
}
template <typename Value>
struct FieldForm<std::optional<std::optional<Value>>> {
  static void field(WireWriter& wire, int number,
                    const std::optional<std::optional<Value>>& change) {
    if (change) wire.message(number, Setting<Value>{*change});
  }
  static void field(WireReader& wire, int number, std::optional<std::optional<Value>>& change) {
    std::optional<Setting<Value>> read;
    wire.message(number, read);
    change.reset();
    if (read) change.emplace(read->value);
  }
};

// Absent if nothing is refused; a refusal without a reason is read as absent.
template <>
struct FieldForm<core::Refusal> {
  static void field(WireWriter& wire, int number, const core::Refusal& refusal) {
    if (refusal) wire.message(number, refusal);
  }
  static void field(WireReader& wire, int number, core::Refusal& refusal) {
    std::optional<core::Refusal> read;
    wire.message(number, read);
    refusal = read && *read ? *read : core::Refusal{};
  }
};

// A queue with the members that the tables keep in columns or not at all.
struct WholeQueue {
  core::Queue queue;
};
template <typename Wire, typename T>
  requires std::same_as<std::remove_const_t<T>, WholeQueue>
void describe(Wire& wire, T& whole) {
  wire.bytes(1, whole.queue.name);
  wire.message(2, whole.queue);
  wire.time(3, whole.queue.oldest_ready_at);
}
template <>
struct FieldForm<std::vector<core::Queue>> {
  static void field(WireWriter& wire, int number, const std::vector<core::Queue>& queues) {
    for (const core::Queue& queue : queues) wire.message(number, WholeQueue{queue});
  }
  static void field(WireReader& wire, int number, std::vector<core::Queue>& queues) {
    std::vector<WholeQueue> read;
    wire.message(number, read);
    queues.clear();
    for (WholeQueue& whole : read) queues.push_back(std::move(whole.queue));
  }
};

// A worker's labels.
template <>
struct FieldForm<std::vector<std::pair<std::string, std::string>>> {
  using List = std::vector<std::pair<std::string, std::string>>;

  static void field(WireWriter& wire, int number, const List& labels) {
    for (const auto& [name, value] : labels) {
      wire.message(number, core::MetaEntry(SharedBytes(name), SharedBytes(value)));
    }
  }
  static void field(WireReader& wire, int number, List& labels) {
    std::vector<core::MetaEntry> read;
    wire.message(number, read);
    labels.clear();
    for (const auto& [name, value] : read) labels.emplace_back(name.view(), value.view());
  }
};

// One entry a shard, zeros included.
template <>
struct FieldForm<std::vector<Seq>> {
  static void field(WireWriter& wire, int number, const std::vector<Seq>& seqs) {
    std::vector<Duration> values;
    for (const Seq seq : seqs) values.emplace_back(static_cast<std::int64_t>(to_number(seq)));
    wire.durations(number, values);
  }
  static void field(WireReader& wire, int number, std::vector<Seq>& seqs) {
    std::vector<Duration> values;
    wire.durations(number, values);
    seqs.clear();
    for (const Duration value : values) {
      seqs.push_back(Seq{static_cast<std::uint64_t>(value.count())});
    }
  }
};

// --- Answers of a single value.

template <typename Wire, typename T>
  requires std::same_as<std::remove_const_t<T>, engine::Unavailable>
void describe(Wire& wire, T& why) {
  wire.enumeration(1, why, last_of(core::Of<engine::Unavailable>()));
}

template <typename Wire, typename T>
  requires std::same_as<std::remove_const_t<T>, engine::Denied>
void describe(Wire& wire, T& why) {
  wire.enumeration(1, why, last_of(core::Of<engine::Denied>()));
}

}  // namespace millrace::store
