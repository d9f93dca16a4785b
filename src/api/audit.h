// The audit: who changed what. Its query, its entries out.
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
  std::string action;  // "queue.paused"; "queue.*": any that begins so
  std::string object;  // a name, a kind, or "kind:name"
  std::optional<Time> since;
  std::optional<Time> until;  // before this
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

// Of two JSON objects only the members that differ; "{}" is left as an empty text. A member that is
// too long for what an entry shows is named without its value.
void keep_changed_members(std::string& before, std::string& after);

}  // namespace millrace::api
