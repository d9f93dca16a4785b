// The expected answers of commands on the catalog.
#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {

// False: not a command on the catalog.
bool Auditor::follow_catalog_command(Ticket ticket, const core::Command& command) {
  using core::Rejection;
  const auto reply_to = [&](Rejection should) {
    const auto* const reply = reply_of<core::CatalogReply>(ticket, "a command on the catalog");
    demand(reply == nullptr || reply->refusal.why == should, "R4",
           "a command on the catalog: rejection {}, should be {}",
           static_cast<int>(reply == nullptr ? should : reply->refusal.why),
           static_cast<int>(should));
    return should == Rejection::kNone ? reply : nullptr;
  };
  if (const auto* put = std::get_if<core::PutCatalogEntry>(&command)) {
    const auto* const reply = reply_to(catalog_.put(*put, model_));
    if (reply != nullptr) catalog_.check_put(*put, *reply);
  } else if (const auto* gone = std::get_if<core::DeleteCatalogEntry>(&command)) {
    reply_to(catalog_.remove(*gone));
  } else if (const auto* get = std::get_if<core::GetCatalog>(&command)) {
    const auto* const reply = reply_to(Rejection::kNone);
    if (reply != nullptr) catalog_.check(*get, *reply);
  } else {
    return false;
  }
  return true;
}

}  // namespace millrace::sim
