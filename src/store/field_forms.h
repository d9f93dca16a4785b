// The message form of members whose types have no call in WireWriter and WireReader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job_fields.h"
#include "core/state_set.h"
#include "store/wire.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {

// For such a type: a field() for the writer, and one for the reader.
template <typename T>
struct FieldForm;

template <typename T>
concept HasFieldForm = requires { sizeof(FieldForm<T>); };

// Absent if the job was never started.
template <>
struct FieldForm<core::Attempt> {
  template <typename Wire>
  static void field(Wire& wire, int number, const core::Attempt& latest) {
    if (!(latest == core::Attempt{})) wire.message(number, latest);
  }
  template <typename Wire>
  static void field(Wire& wire, int number, core::Attempt& latest) {
    std::optional<core::Attempt> read;
    wire.message(number, read);
    latest = read ? std::move(*read) : core::Attempt{};
  }
};

// 1 or 2; absent without a value.
template <>
struct FieldForm<std::optional<bool>> {
  template <typename Wire>
  static void field(Wire& wire, int number, const std::optional<bool>& flag) {
    wire.number(number, flag ? 1U + static_cast<std::uint32_t>(*flag) : 0U);
  }
  template <typename Wire>
  static void field(Wire& wire, int number, std::optional<bool>& flag) {
    std::uint32_t read = 0;
    wire.number(number, read);
    flag = read == 0 ? std::nullopt : std::optional(read == 2);
  }
};

template <>
struct FieldForm<std::vector<JobId>> {
  static void field(WireWriter& wire, int number, const std::vector<JobId>& ids) {
    for (const JobId& id : ids) wire.id(number, id);
  }
  static void field(WireReader& wire, int number, std::vector<JobId>& ids) {
    ids.clear();
    while (wire.next_field() == number) wire.id(number, ids.emplace_back());
  }
};

template <>
struct FieldForm<std::optional<JobId>> {
  static void field(WireWriter& wire, int number, const std::optional<JobId>& id) {
    if (id) wire.id(number, *id);
  }
  static void field(WireReader& wire, int number, std::optional<JobId>& id) {
    id.reset();
    if (wire.next_field() == number) wire.id(number, id.emplace());
  }
};

template <>
struct FieldForm<std::vector<std::uint32_t>> {
  static void field(WireWriter& wire, int number, const std::vector<std::uint32_t>& values) {
    std::vector<Duration> written;
    for (const std::uint32_t value : values) written.emplace_back(value);
    wire.durations(number, written);
  }
  static void field(WireReader& wire, int number, std::vector<std::uint32_t>& values) {
    wire.numbers(number, values);
  }
};

template <>
struct FieldForm<std::string> {
  static void field(WireWriter& wire, int number, const std::string& text) {
    wire.bytes(number, SharedBytes(text));
  }
  static void field(WireReader& wire, int number, std::string& text) {
    SharedBytes read;
    wire.bytes(number, read);
    text = read.view();
  }
};

template <>
struct FieldForm<core::StateSet> {
  template <typename Wire, typename Set>
  static void field(Wire& wire, int number, Set& states) {
    wire.number(number, states.left_out);
  }
};

template <>
struct FieldForm<std::vector<std::string>> {
  static void field(WireWriter& wire, int number, const std::vector<std::string>& texts) {
    std::vector<SharedBytes> written;
    for (const std::string& text : texts) written.emplace_back(text);
    wire.bytes(number, written);
  }
  static void field(WireReader& wire, int number, std::vector<std::string>& texts) {
    std::vector<SharedBytes> read;
    wire.bytes(number, read);
    texts.clear();
    for (const SharedBytes& text : read) texts.emplace_back(text.view());
  }
};

template <>
struct FieldForm<std::int64_t> {
  static void field(WireWriter& wire, int number, std::int64_t value) {
    wire.number(number, zigzag(value));
  }
  static void field(WireReader& wire, int number, std::int64_t& value) {
    std::uint64_t plain = 0;
    wire.number(number, plain);
    value = unzigzag(plain);
  }
};

// Absent if it is 0.
template <>
struct FieldForm<double> {
  static void field(WireWriter& wire, int number, double value) {
    wire.real(number, value == 0 ? std::nullopt : std::optional(value));
  }
  static void field(WireReader& wire, int number, double& value) {
    std::optional<double> read;
    wire.real(number, read);
    value = read.value_or(0);
  }
};

}  // namespace millrace::store
