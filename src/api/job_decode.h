// Parts of jobs that several decoders read. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "api/decode.h"
#include "api/submission.h"

namespace millrace::api {

// The message about a member that a later version will accept.
constexpr std::string_view kNotInThisVersion = "is not available in this version";

bool read_priority(Decode& decode, const Path& path, std::int16_t& out);
bool read_max_attempts(Decode& decode, const Path& path, int& out);
// A job without defaults, as under `enqueue`.
void read_job(Decode& decode, const Path& path, JobSubmission& job);

// Members for the jobs of a body that do not name them.
struct JobDefaults {
  JobSubmission job;
  Seen seen;
};
void read_defaults(Decode& decode, const Path& path, JobDefaults& defaults);
// What neither the job nor the defaults name stays as it is in `job`.
void read_job_over(Decode& decode, const Path& path, const JobDefaults& defaults,
                   JobSubmission& job);

// Items with separate faults, whose pointers are relative to the item. `read(path, value)` reads
// one.
template <typename T, typename Read>
bool read_items(Decode& decode, const Path& path, std::size_t min, std::size_t max,
                std::vector<Item<T>>& out, Read&& read) {
  return read_array(decode, path, min, max, [&](const Path&) {
    Item<T>& item = out.emplace_back();
    item.fault = decode.faults_of([&] { read(Path{}, item.value); });
  });
}

}  // namespace millrace::api
