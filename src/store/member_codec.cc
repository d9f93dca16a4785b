#include "store/member_codec.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/check.h"
#include "core/command_fields.h"
#include "store/record_wire.h"
#include "store/submission_codec.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {
namespace {

// Of MemberBox.
constexpr int kFormatField = 1;
constexpr int kMessageField = 2;
constexpr int kNamesField = 3;

std::unexpected<UnreadableMessage> damaged(std::string problem) {
  return std::unexpected(UnreadableMessage{false, "damaged message: " + problem});
}

// Exactly one of them.
bool has_one_part(const core::MemberMessage& message) {
  return int{message.settle.has_value()} + int{message.retry.has_value()} +
             int{!message.remove.empty()} + int{message.wish.has_value()} ==
         1;
}

}  // namespace

EventFormat format_of(const core::MemberMessage& message) {
  const bool of_tomorrow = message.retry && is_of_tomorrow(message.retry->spec->type.view());
  return of_tomorrow ? kFormatOfTomorrow : EventFormat::kWorkflows;
}

void encode_member_message(const core::MemberMessage& message, std::string& out) {
  MILLRACE_CHECK(has_one_part(message));
  MILLRACE_CHECK(!message.retry ||
                 (message.retry->spec != nullptr && message.retry->spec->key == nullptr));
  SharedPartsWriter shared;
  WireWriter wire(out, Time{}, &shared);
  wire.number(kFormatField, format_of(message));
  wire.message(kMessageField, message);
  wire.bytes(kNamesField, shared.names());
  wire.finish();
}

std::expected<core::MemberMessage, UnreadableMessage> decode_member_message(std::string_view body) {
  WireReader wire(body, Time{});
  EventFormat format{};
  wire.number(kFormatField, format);
  if (wire.ok() && format > kNewestEventFormat) {
    return std::unexpected(UnreadableMessage{
        true,
        fmt::format("the message has format {}, and this version reads up to {}; upgrade this node",
                    static_cast<std::uint32_t>(format),
                    static_cast<std::uint32_t>(kNewestEventFormat))});
  }
  std::string_view message_body;
  const bool found = wire.take_raw(kMessageField, message_body);
  SharedPartsReader shared;
  wire.bytes(kNamesField, shared.names);
  wire.expect_end();
  if (!wire.ok()) return damaged(wire.problem());
  if (!found) return damaged("it is empty");

  core::MemberMessage message;
  WireReader reader(message_body, Time{}, &shared);
  describe(reader, message);
  reader.expect_end();
  if (!reader.ok()) return damaged(reader.problem());
  if (!has_one_part(message)) return damaged("it has not exactly one part");
  if (message.retry && (message.retry->spec == nullptr || message.retry->spec->key != nullptr)) {
    return damaged("its job is missing, or has a key");
  }
  if (format != format_of(message)) return damaged("it is not of the format that it names");
  return message;
}

}  // namespace millrace::store
