// An idempotency key as stored.
#pragma once

#include "base/ids.h"
#include "base/time.h"

namespace millrace::core {

struct IdempotencyKey {
  Fingerprint key;   // of (queue, key)
  Fingerprint body;  // of the request's body
  Time expires_at{};
};

}  // namespace millrace::core
