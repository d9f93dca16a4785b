// The data that `millrace doctor` reads in addition to the overview.
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

// A node, as listed by the asked node and as it answers itself.
struct NodeSeen {
  std::string name{};  // for people
  std::string url{};
  std::string version{};
  std::string diagnosis{};  // GET /v1/admin/diagnosis; empty if unknown
  std::string problem{};    // the reason why it did not answer
  // How far the server's clock is ahead of this machine's, at least and at most: the answer took
  // time.
  std::optional<std::pair<Duration, Duration>> clock_ahead{};
};

struct DoctorFacts {
  Facts overview{};
  std::vector<NodeSeen> nodes{};           // live nodes; the asked one first
  Facts::Items gone{};                     // nodes whose lease has expired
  std::vector<std::int64_t> leaderless{};  // shards
  Facts::Items tokens{};
  Facts::Items groups{};  // open error groups
  // By the group's JSON: jobs that are retried again and again, at most kMostJobs per group. Groups
  // without such jobs are left out.
  std::vector<std::pair<std::string, Facts::Items>> tried{};
  // For full gates with waiting jobs: their holders. For gates with a rate: their waiting jobs.
  std::vector<std::pair<std::string, Facts::Items>> holders{};  // by the gate's JSON
  std::vector<std::pair<std::string, Facts::Items>> waiting{};
  std::vector<std::pair<std::string, std::string>> runs{};  // by name, newest first
};

inline constexpr int kMostJobs = 500;
inline constexpr std::string_view kLostLease = "lease_expired";  // the server's name for the error
inline constexpr int kManyAttempts = 5;
inline constexpr int kManyCrashes = 2;

// Opens a client for another node, with the same token and certificates.
using OpenClient = std::function<Result<sdk::Client>(const std::string& url)>;
sdk::Result<DoctorFacts> look_closely(sdk::Client& client, const OpenClient& open);

// --- Pure functions.
void judge_nodes(const DoctorFacts& facts, const Patience& patience, Findings& found);
void judge_tokens(const DoctorFacts& facts, Findings& found);
void judge_stuck(const DoctorFacts& facts, const Patience& patience, Findings& found);
void judge_poison(const DoctorFacts& facts, Findings& found);
void judge_runs(const DoctorFacts& facts, Findings& found);

// Checks a store's files, whether or not a server runs. False: there is none, which is a finding
// too.
bool judge_files(const std::string& directory, Findings& found);

}  // namespace millrace::cli
