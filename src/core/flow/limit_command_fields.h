// The members of commands about limits, and of the messages between shards about them: see
// describe.h.
#pragma once

#include <tuple>

#include "core/audit/audit_fields.h"
#include "core/command.h"
#include "core/describe.h"
#include "core/flow/share_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<LimitDetail>) { return LimitDetail::kHolders; }

constexpr auto describe(Of<SetLimit>) {
  return std::tuple(Field(1, &SetLimit::kind), Field(2, &SetLimit::name),
                    Field(3, &SetLimit::settings), Field(4, &SetLimit::incarnation, Form::kFixed),
                    Field(5, &SetLimit::if_version), Field(6, &SetLimit::by));
}

constexpr auto describe(Of<PauseLimit>) {
  return std::tuple(Field(1, &PauseLimit::kind), Field(2, &PauseLimit::name),
                    Field(3, &PauseLimit::key), Field(4, &PauseLimit::reason),
                    Field(5, &PauseLimit::length), Field(6, &PauseLimit::by));
}

constexpr auto describe(Of<ResumeLimit>) {
  return std::tuple(Field(1, &ResumeLimit::kind), Field(2, &ResumeLimit::name),
                    Field(3, &ResumeLimit::key), Field(4, &ResumeLimit::by));
}

constexpr auto describe(Of<DeleteLimit>) {
  return std::tuple(Field(1, &DeleteLimit::kind), Field(2, &DeleteLimit::name),
                    Field(3, &DeleteLimit::force), Field(4, &DeleteLimit::if_version),
                    Field(5, &DeleteLimit::by));
}

constexpr auto describe(Of<GetLimits>) {
  return std::tuple(Field(1, &GetLimits::kind), Field(2, &GetLimits::name),
                    Field(3, &GetLimits::after), Field(4, &GetLimits::limit),
                    Field(5, &GetLimits::detail), Field(6, &GetLimits::key));
}

constexpr auto describe(Of<ReportShares>) {
  return std::tuple(Field(1, &ReportShares::shard), Field(2, &ReportShares::from),
                    Field(3, &ReportShares::items));
}

constexpr auto describe(Of<GiveShares>) {
  return std::tuple(Field(1, &GiveShares::shard), Field(2, &GiveShares::items));
}

constexpr auto describe(Of<CopyLimit>) {
  return std::tuple(Field(1, &CopyLimit::shard), Field(2, &CopyLimit::limit),
                    Field(3, &CopyLimit::gone));
}

}  // namespace millrace::core
