#include "cli/schedule/set_file.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "api/text.h"
#include "cli/schedule/json_members.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kMayStand = "what may: managed_by, schedules, prune, dry_run, force";

class Reader {
 public:
  explicit Reader(const Document& document) : document_(document) {}

  void read_root() {
    for_each_member(JsonCursor(document_.json), [this](const std::string& name, JsonCursor value) {
      if (!seen_.insert(name).second) return fail("/" + name, fmt::format("{} is twice", name));
      if (name == "managed_by") {
        read_text(name, value, set.managed_by);
      } else if (name == "prune") {
        read_truth(name, value, set.prune);
      } else if (name == "dry_run") {
        read_truth(name, value, set.dry_run);
      } else if (name == "force") {
        read_truth(name, value, set.force);
      } else if (name == "schedules") {
        read_schedules(value);
      } else {
        fail(join_pointer("", name), fmt::format("{} can't stand here; {}{}",
                                                 api::single_quoted(name), kMayStand, hint(value)));
      }
    });
    if (!seen_.contains("schedules")) {
      fail("", fmt::format("schedules is missing; {}", kMayStand));
    }
  }

  sdk::ScheduleSet set;
  FileFaults faults;

 private:
  void read_schedules(JsonCursor value) {
    if (value.type() != JsonType::kObject) {
      return fail("/schedules", "schedules must be a table of names");
    }
    std::set<std::string, std::less<>> names;
    for_each_member(value, [&](const std::string& name, JsonCursor specification) {
      const std::string pointer = join_pointer("/schedules", name);
      if (!api::is_name(name)) {
        fail(pointer, fmt::format("a schedule's name {}; {} does not fit", api::kNameRule,
                                  api::single_quoted(name)));
      } else if (!names.insert(name).second) {
        fail(pointer, fmt::format("{} is twice", name));
      } else if (specification.type() != JsonType::kObject) {
        fail(pointer,
             fmt::format("{} must be a table: cron or every_ms, job or workflow, ...", name));
      } else if (is_split_name(specification)) {
        fail(pointer, fmt::format("{0} has nothing but tables: a name with a dot needs quotes, as "
                                  "in [schedules.\"{0}.other\"]",
                                  name));
      } else {
        set.schedules.emplace_back(name, specification.skip());
      }
    });
    if (names.size() > kMaxSetSchedules) {
      fail("/schedules",
           fmt::format("{} schedules: a set has at most {}", names.size(), kMaxSetSchedules));
    }
  }

  // TOML reads [schedules.mail.digest] as a table digest inside a table mail.
  static bool is_split_name(JsonCursor specification) {
    bool any = false;
    bool all_tables = true;
    for_each_member(specification, [&](const std::string& name, JsonCursor value) {
      any = true;
      all_tables =
          all_tables && name != "job" && name != "workflow" && value.type() == JsonType::kObject;
    });
    return any && all_tables;
  }

  // The file has a single specification instead of a set.
  static std::string_view hint(JsonCursor value) {
    return value.type() == JsonType::kObject ? "; a schedule stands below schedules" : "";
  }

  void read_text(const std::string& name, JsonCursor value, std::string& out) {
    if (value.type() != JsonType::kString) return fail("/" + name, name + " must be a string");
    out = text_at(value);
  }

  void read_truth(const std::string& name, JsonCursor value, bool& out) {
    if (value.type() != JsonType::kBoolean) {
      return fail("/" + name, name + " must be true or false");
    }
    out = value.boolean();
  }

  void fail(std::string_view pointer, std::string message) {
    faults.push_back({document_.lines.of(pointer), std::move(message)});
  }

  const Document& document_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace

std::expected<Document, FileFaults> read_object_file(std::string_view content, FileFormat format) {
  auto document = read_document(content, format);
  if (document && JsonCursor(document->json).type() != JsonType::kObject) {
    return std::unexpected(FileFaults{{1, "an object is expected here, not a list"}});
  }
  return document;
}

std::expected<SetFile, FileFaults> read_set_file(std::string_view content, FileFormat format) {
  auto document = read_object_file(content, format);
  if (!document) return std::unexpected(std::move(document.error()));
  Reader reader(*document);
  reader.read_root();
  if (!reader.faults.empty()) return std::unexpected(std::move(reader.faults));
  return SetFile{std::move(reader.set), std::move(document->lines)};
}

std::expected<Document, FileFaults> read_specification_file(std::string_view content,
                                                            FileFormat format) {
  auto document = read_object_file(content, format);
  if (!document) return document;
  const JsonMembers members = members_of(document->json);
  if (find_member(members, "schedules")) {
    return std::unexpected(FileFaults{
        {document->lines.of("/schedules"),
         "a set of schedules: `millrace schedule apply` takes it; here one specification is "
         "expected"}});
  }
  return document;
}

}  // namespace millrace::cli
