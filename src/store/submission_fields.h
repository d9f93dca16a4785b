// The fields of a job that is yet to be submitted: see wire.h, and NewJob in events.proto.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/command.h"
#include "store/shared_parts.h"
#include "store/value_fields.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {

// A retry policy that may be absent.
struct OwnPolicy {
  static void field(WireWriter& wire, int number,
                    const std::shared_ptr<const core::RetryPolicy>& policy) {
    if (policy != nullptr) wire.message(number, *policy);
  }
  static void field(WireReader& wire, int number,
                    std::shared_ptr<const core::RetryPolicy>& policy) {
    std::optional<core::RetryPolicy> read;
    wire.message(number, read);
    policy = read ? share(std::move(*read)) : nullptr;
  }
};

// All but its own key, which is field 16 of what nodes send each other: the same form.
template <typename Wire, Described<core::JobSpec> T>
void describe_new_job(Wire& wire, T& spec) {
  wire.id(1, spec.id);
  wire.enumeration(2, spec.id_origin, core::IdOrigin::kClient);
  wire.name(3, spec.queue);
  describe_type(wire, 4, spec.type);
  wire.bytes(5, spec.payload);
  wire.signed_number(6, spec.priority);
  wire.time(7, spec.run_at);
  wire.duration(8, spec.delay);
  wire.time(9, spec.expires_at);
  wire.duration(10, spec.expires_in);
  wire.number(11, spec.max_attempts);
  OwnPolicy::field(wire, 12, spec.retry);
  wire.duration(13, spec.lease);
  wire.duration(14, spec.timeout);
  wire.message(15, spec.extras);
}

}  // namespace millrace::store
