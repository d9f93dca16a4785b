#include "api/meta.h"

#include "api/decode.h"

namespace millrace::api {
namespace {

constexpr Member<Backup> kBackupMembers[] = {
    {"path",
     [](Decode& d, const Path& p, Backup& out) {
       if (!read_text(d, p, 1, kMaxPathBytes, out.path)) return;
       if (!out.path.starts_with('/')) d.fault(p, "must be an absolute path");
     }},
};

}  // namespace

Decoded<Backup> decode_backup(std::string_view body, const DecodeLimits& limits) {
  return decode_body<Backup>(
      body, limits, EmptyBody::kRefused, [](Decode& decode, const Path& path, Backup& out) {
        const std::optional<Seen> seen = read_object(decode, path, kBackupMembers, out);
        if (seen) require(decode, path, "path", seen->has(bit_of(kBackupMembers, "path")));
      });
}

void encode_backup_done(JsonWriter& json, std::string_view path, std::uint64_t bytes) {
  json.begin_object();
  json.member("path", path);
  json.member("bytes", bytes);
  json.end_object();
}

void encode(JsonWriter& json, const Meta& meta) {
  json.begin_object();
  json.member("version", meta.version);
  json.text_or_null("commit", meta.commit);
  json.member("store", meta.store);
  json.member("node", meta.node);
  json.member("shards", meta.shards);
  json.member("started_at", meta.started_at);
  json.member("server_time", meta.server_time);
  json.key("limits");
  json.begin_object();
  for (const auto& [name, value] : meta.limits) json.member(name, value);
  json.end_object();
  json.end_object();
}

void encode(JsonWriter& json, const Configuration& configuration) {
  json.begin_object();
  json.text_or_null("file", configuration.file);
  json.key("settings");
  json.begin_array();
  for (const SettingInForce& setting : configuration.settings) {
    json.begin_object();
    json.member("key", setting.key);
    json.member("value", setting.value);
    json.member("source", setting.source);
    json.key("waiting");
    setting.waiting ? json.string(*setting.waiting) : json.null();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace millrace::api
