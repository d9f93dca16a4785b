// The ninth migration: millrace.enqueue takes limits, order keys and fair keys.
#pragma once

namespace millrace::store {

extern const char* const kLimitedEnqueueMigration;

}  // namespace millrace::store
