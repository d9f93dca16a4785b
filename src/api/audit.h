// The audit log: the decoded query and the encoded entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

// GET /v1/admin/audit. Empty: any.
struct AuditFilter {
  std::string actor;   // the id of a token, or its name
  std::string action;  // "queue.paused"; "queue.*": any with this prefix
  std::string object;  // a name, a kind, or "kind:name"
  std::optional<Time> since;
  std::optional<Time> until;  // exclusive
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
  bool fresh = false;
};
Decoded<AuditFilter> decode_audit_query(std::string_view query_string);

struct AuditEntry {
  std::string id;
  Time at{};
  std::string token;    // empty: null
  std::string name;     // of the token; empty: null
  std::string address;  // empty: null
  std::string_view via;
  std::string request_id;  // empty: null
  std::string action;
  std::string kind;
  std::string object;
  std::string summary;
  std::string before;  // a JSON object; empty: null
  std::string after;
  std::string reason;  // empty: null
};
void encode(JsonWriter& json, const AuditEntry& entry);

// Reduces two JSON objects to the members that differ; "{}" becomes an empty text. A member too
// long for an entry is listed without its value.
void keep_changed_members(std::string& before, std::string& after);

}  // namespace millrace::api
