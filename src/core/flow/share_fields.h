// The members of shares and of messages about them: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/flow/limit_fields.h"
#include "core/flow/share.h"

namespace millrace::core {

constexpr auto describe(Of<Portion>) {
  return std::tuple(Field(1, &Portion::slots), Field(2, &Portion::rate), Field(3, &Portion::burst));
}

constexpr auto describe(Of<Share>) {
  return std::tuple(Field(1, &Share::version), Field(2, &Share::of), Field(3, &Share::portion),
                    Field(4, &Share::per), Field(5, &Share::not_before),
                    Field(6, &Share::contested));
}

constexpr auto describe(Of<Grant>) {
  return std::tuple(Field(1, &Grant::shard), Field(2, &Grant::version), Field(3, &Grant::portion),
                    Field(4, &Grant::counted), Field(5, &Grant::taken), Field(6, &Grant::contested),
                    Field(7, &Grant::tokens), Field(8, &Grant::not_before));
}

constexpr auto describe(Of<ShareBook>) {
  return std::tuple(Field(1, &ShareBook::of), Field(2, &ShareBook::bounds),
                    Field(3, &ShareBook::grants), Field(4, &ShareBook::tokens),
                    Field(5, &ShareBook::at));
}

constexpr auto describe(Of<BucketRow>) {
  return std::tuple(
      Field(1, &BucketRow::kind), Field(2, &BucketRow::name), Field(3, &BucketRow::key),
      Field(4, &BucketRow::level), Field(5, &BucketRow::at), Field(6, &BucketRow::share),
      Field(7, &BucketRow::book), Field(8, &BucketRow::floor), Field(9, &BucketRow::retry_level),
      Field(10, &BucketRow::slow_until), Field(11, &BucketRow::breaker));
}

constexpr auto describe(Of<ShareReport>) {
  return std::tuple(
      Field(1, &ShareReport::kind), Field(2, &ShareReport::name), Field(3, &ShareReport::key),
      Field(4, &ShareReport::incarnation, Form::kFixed), Field(5, &ShareReport::revision),
      Field(6, &ShareReport::version), Field(7, &ShareReport::floor),
      Field(8, &ShareReport::in_use), Field(9, &ShareReport::slots), Field(10, &ShareReport::burst),
      Field(11, &ShareReport::wants), Field(12, &ShareReport::idle),
      Field(13, &ShareReport::surplus), Field(14, &ShareReport::per), Field(15, &ShareReport::at));
}

constexpr auto describe(Of<ShareGift>) {
  return std::tuple(Field(1, &ShareGift::kind), Field(2, &ShareGift::name),
                    Field(3, &ShareGift::key), Field(4, &ShareGift::incarnation, Form::kFixed),
                    Field(5, &ShareGift::share), Field(6, &ShareGift::tokens));
}

}  // namespace millrace::core
