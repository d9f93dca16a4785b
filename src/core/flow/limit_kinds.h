// The kinds of commands about limits, and of the messages between shards about them: see kind.h. A
// limit's home is the shard of its name; each other shard has a copy and its share.
#pragma once

#include "core/flow/limit_commands.h"
#include "core/flow/share_commands.h"
#include "core/kind.h"
#include "core/reply.h"
#include "core/row_bytes.h"

namespace millrace::core {

// An operator changes a limit.
struct OnLimit : Unremarkable {
  static constexpr Scopes kScopes = kOperateScope;
  template <typename Command>
  static std::string_view routed_by(const Command& command) {
    return command.name.view();
  }
  template <typename Command>
  static AuditObject object(const Command& command) {
    return {command.kind == LimitKind::kType ? "type" : "limit", command.name};
  }
};

// The event holds the limit's pauses, which the machine knows.
template <>
struct KindOf<SetLimit>
    : Row<LimitReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnLimit> {
  static constexpr std::string_view kName = "set limit";
  static constexpr std::string_view kDone = "set";
  static std::size_t row_bytes(const SetLimit& command) {
    return kMaxPausesBytes + kRefBytes + bytes_of(command.settings);
  }
};

template <>
struct KindOf<PauseLimit>
    : Row<LimitReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnLimit> {
  static constexpr std::string_view kName = "pause limit";
  static constexpr std::string_view kDone = "paused";
  static std::size_t row_bytes(const PauseLimit&) { return kMaxLimitBytes; }
};

template <>
struct KindOf<ResumeLimit>
    : Row<LimitReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnLimit> {
  static constexpr std::string_view kName = "resume limit";
  static constexpr std::string_view kDone = "resumed";
  static std::size_t row_bytes(const ResumeLimit&) { return kMaxLimitBytes; }
};

template <>
struct KindOf<DeleteLimit>
    : Row<LimitReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnLimit> {
  static constexpr std::string_view kName = "delete limit";
  static constexpr std::string_view kDone = "deleted";
  static std::size_t row_bytes(const DeleteLimit&) { return kRefBytes; }
};

template <>
struct KindOf<GetLimits> : Row<LimitReply, Route::kToAll, Effect::kReads, Again::kAlways, Reading> {
  static constexpr std::string_view kName = "get limits";
};

template <>
struct KindOf<CopyLimit> : Row<LimitReply, Route::kToAll, Effect::kWrites, Again::kAlways> {
  static constexpr std::string_view kName = "copy limit";
  static constexpr Scopes kScopes = kOperateScope;
  static std::size_t row_bytes(const CopyLimit&) { return kRefBytes + kMaxLimitBytes; }
};

template <>
struct KindOf<ReportShares> : Row<LimitReply, Route::kToOne, Effect::kEnds, Again::kAlways> {
  static constexpr std::string_view kName = "report shares";
  // A book may have an entry for each of very many shards.
  static std::size_t row_bytes(const ReportShares& command) {
    return command.items.size() * (2 * kRefBytes + 64 * kItemBytes);
  }
};

template <>
struct KindOf<GiveShares> : Row<LimitReply, Route::kToOne, Effect::kEnds, Again::kAlways> {
  static constexpr std::string_view kName = "give shares";
  static std::size_t row_bytes(const GiveShares& command) {
    return command.items.size() * 2 * kRefBytes;
  }
};

}  // namespace millrace::core
