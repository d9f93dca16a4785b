// Facts about the server: GET /v1/meta, and backups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

struct Meta {
  std::string_view version;
  std::string_view commit;  // empty: null
  std::string_view store;   // "sqlite" or "postgres"
  std::string_view node;
  std::int64_t shards = 1;
  Time started_at{};
  Time server_time{};
  std::vector<std::pair<std::string_view, std::int64_t>> limits;  // "payload_bytes" and so on
};
void encode(JsonWriter& json, const Meta& meta);

// GET /v1/admin/config: a setting in force, in the form that `millrace config show` prints.
struct SettingInForce {
  std::string key;
  std::string value;   // never contains a secret
  std::string source;  // "flag --drain", "environment MILLRACE_DRAIN", "file PATH:3", "default"
  std::optional<std::string> waiting;  // the value that takes effect after a restart
};
struct Configuration {
  std::string file;  // empty: none was read
  std::vector<SettingInForce> settings;
};
void encode(JsonWriter& json, const Configuration& configuration);

// POST /v1/admin/backup
struct Backup {
  std::string path;  // absolute, at most kMaxPathBytes
};
Decoded<Backup> decode_backup(std::string_view body, const DecodeLimits& limits);
void encode_backup_done(JsonWriter& json, std::string_view path, std::uint64_t bytes);

}  // namespace millrace::api
