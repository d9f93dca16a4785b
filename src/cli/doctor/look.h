// What `millrace doctor` reads beyond an overview.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/findings/facts.h"

namespace millrace::cli {

// A node as one of them names it, and as it answers itself.
struct NodeSeen {
  std::string name{};  // for people
  std::string url{};
  std::string version{};
  std::string diagnosis{};  // GET /v1/admin/diagnosis; empty: not known
  std::string problem{};    // why it did not answer
  // The server's clock against this machine's, at least and at most: the answer took some time.
  std::optional<std::pair<Duration, Duration>> clock_ahead{};
};

struct DoctorFacts {
  Facts overview{};
  std::vector<NodeSeen> nodes{};           // those that live; the asked one first
  Facts::Items gone{};                     // nodes whose lease is over
  std::vector<std::int64_t> leaderless{};  // shards
  Facts::Items tokens{};
  Facts::Items groups{};  // of errors, the open ones
  // Jobs that are tried again and again, of groups with such: at most kMostJobs of each. By the
  // group's JSON.
  std::vector<std::pair<std::string, Facts::Items>> tried{};
  // Of full gates that jobs wait for: their holders. Of gates with a rate: jobs that wait for it.
  std::vector<std::pair<std::string, Facts::Items>> holders{};  // by the gate's JSON
  std::vector<std::pair<std::string, Facts::Items>> waiting{};
  // A ready job of a type that no worker of its queue takes, and that queue's name.
  std::vector<std::pair<std::string, std::string>> untaken{};
  std::vector<std::pair<std::string, std::string>> runs{};  // of schedules, newest first, by name
};

inline constexpr int kMostJobs = 500;
inline constexpr std::string_view kLostLease = "lease_expired";  // as the server names the error
inline constexpr int kManyAttempts = 5;
inline constexpr int kManyCrashes = 2;

// Opens a client of another node; the same token and certificates.
using OpenClient = std::function<Result<sdk::Client>(const std::string& url)>;
sdk::Result<DoctorFacts> look_closely(sdk::Client& client, const OpenClient& open);

// Pure.
void judge_nodes(const DoctorFacts& facts, const Patience& patience, Findings& found);
void judge_tokens(const DoctorFacts& facts, Findings& found);
void judge_stuck(const DoctorFacts& facts, const Patience& patience, Findings& found);
void judge_poison(const DoctorFacts& facts, Findings& found);
void judge_runs(const DoctorFacts& facts, Findings& found);

// The files of a store, whether or not a server runs. False: there is none, which is a finding too.
bool judge_files(const std::string& directory, Findings& found);

}  // namespace millrace::cli
