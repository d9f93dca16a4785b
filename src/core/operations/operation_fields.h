// The members of operations: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/operations/operation.h"
#include "core/reply_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<Comparison>) { return Comparison::kLessEqual; }
constexpr auto last_of(Of<JobField>) { return JobField::kResult; }
constexpr auto last_of(Of<OperationOrder>) { return OperationOrder::kSetRate; }
constexpr auto last_of(Of<OperationChange>) { return OperationChange::kCancelled; }

constexpr auto describe(Of<Condition>) {
  return std::tuple(Field(1, &Condition::field), Field(2, &Condition::comparison),
                    Field(3, &Condition::negated), Field(4, &Condition::values),
                    Field(5, &Condition::number), Field(6, &Condition::real),
                    Field(7, &Condition::path));
}

constexpr auto describe(Of<JobFilter>) {
  return std::tuple(Field(1, &JobFilter::conditions), Field(2, &JobFilter::workflow));
}

constexpr auto describe(Of<OperationSpec>) {
  return std::tuple(Field(1, &OperationSpec::kind), Field(2, &OperationSpec::action),
                    Field(3, &OperationSpec::priority), Field(4, &OperationSpec::filter),
                    Field(5, &OperationSpec::states), Field(6, &OperationSpec::query),
                    Field(7, &OperationSpec::queue), Field(8, &OperationSpec::error_group),
                    Field(9, &OperationSpec::deletes_queue), Field(10, &OperationSpec::matched),
                    Field(11, &OperationSpec::created_at), Field(12, &OperationSpec::created_by));
}

constexpr auto describe(Of<OperationPart>) {
  return std::tuple(Field(1, &OperationPart::id), Field(2, &OperationPart::spec),
                    Field(3, &OperationPart::rate_per_s), Field(4, &OperationPart::state),
                    Field(5, &OperationPart::begun_at), Field(6, &OperationPart::below),
                    Field(7, &OperationPart::changed), Field(8, &OperationPart::failed),
                    Field(9, &OperationPart::paid_until_us), Field(10, &OperationPart::updated_at),
                    Field(11, &OperationPart::ended_at), Field(12, &OperationPart::reason));
}

constexpr auto describe(Of<StartOperation>) {
  return std::tuple(Field(1, &StartOperation::id), Field(2, &StartOperation::spec),
                    Field(3, &StartOperation::rate_per_s), Field(4, &StartOperation::shard),
                    Field(5, &StartOperation::by));
}

constexpr auto describe(Of<SetOperation>) {
  return std::tuple(Field(1, &SetOperation::id), Field(2, &SetOperation::order),
                    Field(3, &SetOperation::rate_per_s));
}

constexpr auto describe(Of<StepOperation::Item>) {
  return std::tuple(Field(1, &StepOperation::Item::id), Field(2, &StepOperation::Item::ord));
}

constexpr auto describe(Of<StepOperation>) {
  return std::tuple(Field(1, &StepOperation::id), Field(2, &StepOperation::below),
                    Field(3, &StepOperation::items), Field(4, &StepOperation::next),
                    Field(5, &StepOperation::ends),
                    Field(0, &StepOperation::sharers, Form::kUnsent));
}

constexpr auto describe(Of<GetOperations>) {
  return std::tuple(Field(1, &GetOperations::id), Field(2, &GetOperations::before),
                    Field(3, &GetOperations::limit));
}

constexpr auto describe(Of<ForgetOperations>) {
  return std::tuple(Field(1, &ForgetOperations::ids));
}

constexpr auto describe(Of<OperationReply>) {
  return std::tuple(Field(1, &OperationReply::refusal), Field(2, &OperationReply::changed),
                    Field(3, &OperationReply::parts), Field(4, &OperationReply::next));
}

constexpr auto describe(Of<OperationSet>) {
  return std::tuple(Field(1, &OperationSet::change), Field(2, &OperationSet::part));
}

constexpr auto describe(Of<OperationAdvanced>) {
  return std::tuple(Field(1, &OperationAdvanced::id), Field(2, &OperationAdvanced::below),
                    Field(3, &OperationAdvanced::changed), Field(4, &OperationAdvanced::failed),
                    Field(5, &OperationAdvanced::paid_until_us),
                    Field(6, &OperationAdvanced::ended), Field(7, &OperationAdvanced::reason));
}

constexpr auto describe(Of<OperationsForgotten>) {
  return std::tuple(Field(1, &OperationsForgotten::ids));
}

}  // namespace millrace::core
