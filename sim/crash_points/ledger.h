// Everything that users were told and may rely on. It outlives every death. It knows the meaning of
// requests and answers, but not how the machine decides. If the outcome of a request is unknown, it
// expects less.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"
#include "engine/request.h"
#include "engine/routing/gateway.h"

namespace millrace::crash_points {

class Ledger {
 public:
  // The expectations about a job whose submission was acknowledged.
  struct Promise {
    SharedBytes queue;
    // The possible payloads: the last acknowledged one, and those requested since.
    std::vector<std::pair<engine::Ticket, SharedBytes>> payloads;
    bool may_be_gone = false;                    // there was a request that may delete it
    bool gone = false;                           // its deletion was acknowledged
    std::optional<core::State> ended;            // as answered; no later request to change it
    SharedBytes result;                          // of an answered success
    engine::Ticket disturbed{};                  // the newest request that may have revived it
    std::pair<SharedBytes, SharedBytes> unique;  // queue and key
    std::vector<core::JobSpec> again;            // submitted under its id, with unknown outcome
  };
  struct Lease {
    JobId id;
    LeaseToken token{};
    Time until{};
  };

  engine::Ticket asked(const engine::Request& request);
  void answered(engine::Ticket ticket, const engine::Answer& answer);

  // --- From the store.
  std::map<Seq, Fingerprint> digests;  // of the state after each decided row
  Seq durable{};                       // the newest row that the journal reported durable
  Seq synced{};                        // the row that the tables reported synced
  std::optional<Seq> backed_up;        // the newest durable row when a successful backup began

  // --- From answers.
  std::map<JobId, Promise> jobs;
  std::vector<Lease> leases;  // live ones that no request has tried to end
  std::map<Fingerprint, JobId> keys;
  std::optional<std::pair<Fingerprint, JobId>> last_key;
  LeaseToken newest_token{};
  std::map<std::string, bool> paused;  // queues last answered as paused, with no request in flight
  std::map<std::string, bool> there;   // the same for queues that are made and deleted by name

  // Errors found in answers, as sentences.
  std::vector<std::string> problems;

  Time now = time_from_ms(1'700'000'000'000);
  std::uint64_t requests = 0;
  std::uint64_t answers = 0;  // without those that said "not now"
  // The process has died and will not answer its requests.
  void forget_waiting();
  std::size_t waiting() const { return waiting_.size(); }

 private:
  void note_asked(engine::Ticket ticket, const core::Command& command);
  void note(engine::Ticket ticket, const core::Enqueue& asked, const core::EnqueueReply& reply);
  void note(const core::ClaimReply& reply);
  void note(engine::Ticket ticket, const core::Command& asked, const core::ItemsReply& reply);
  void note_item(engine::Ticket ticket, const core::Command& asked, std::size_t index,
                 const core::ItemReply& item);
  void note_created(engine::Ticket ticket, const core::JobSpec& spec);
  void note_unknown(const core::Command& command);
  void promise(engine::Ticket ticket, const core::JobSpec& spec);

  std::uint64_t last_ticket_ = 0;
  std::map<engine::Ticket, core::Command> waiting_;
  std::map<std::pair<std::string, std::string>, engine::Ticket> replaced_;  // unique keys
};

}  // namespace millrace::crash_points
