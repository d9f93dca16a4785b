// The members of a workflow's members: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/workflows/member.h"

namespace millrace::core {

constexpr auto describe(Of<Need>) { return std::tuple(Field(1, &Need::of), Field(2, &Need::on)); }

constexpr auto describe(Of<MemberSpec>) {
  return std::tuple(Field(1, &MemberSpec::ref), Field(2, &MemberSpec::needs),
                    Field(3, &MemberSpec::any), Field(4, &MemberSpec::queue, Form::kName),
                    Field(5, &MemberSpec::job));
}

constexpr auto describe(Of<MemberFate>) {
  return std::tuple(Field(1, &MemberFate::state), Field(2, &MemberFate::reason),
                    Field(3, &MemberFate::round));
}

constexpr auto describe(Of<Parent>) {
  return std::tuple(Field(1, &Parent::ref), Field(2, &Parent::job), Field(3, &Parent::state),
                    Field(4, &Parent::reason));
}

constexpr auto describe(Of<Membership>) {
  return std::tuple(Field(1, &Membership::workflow), Field(2, &Membership::name),
                    Field(3, &Membership::role), Field(4, &Membership::number),
                    Field(5, &Membership::ref), Field(6, &Membership::round),
                    Field(7, &Membership::kept), Field(8, &Membership::generation),
                    Field(9, &Membership::state), Field(10, &Membership::parents),
                    Field(11, &Membership::counts), Field(12, &Membership::failed));
}

}  // namespace millrace::core
