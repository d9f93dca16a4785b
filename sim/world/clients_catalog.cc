// Clients that write documents of the catalog, and nodes that keep a copy.
#include <fmt/format.h>

#include "sim/world/clients.h"

namespace millrace::sim {

core::Command Clients::catalog(Dice& dice) {
  // Few names, so that clients interfere with each other.
  const auto kind = static_cast<core::CatalogKind>(dice.below(core::kCatalogKinds));
  const SharedBytes name(fmt::format("e{}", dice.below(4)));
  std::optional<std::uint64_t> if_version;
  if (dice.chance(200)) if_version = dice.below(4);
  switch (dice.below(8)) {
    case 0:
    case 1:
      return core::GetCatalog{dice.chance(700) ? seen_revision_ : 0};
    case 2:
    case 3:
      return core::DeleteCatalogEntry{kind, name, if_version};
    default:
      return core::PutCatalogEntry{kind, name, SharedBytes(fmt::format("body {}", dice.below(5))),
                                   if_version};
  }
}

void Clients::learn_settings(const core::Reply& reply) {
  if (const auto* shown = std::get_if<core::ScheduleReply>(&reply)) {
    for (const core::Schedule& schedule : shown->schedules) {
      seen_schedules_[std::string(schedule.name.view())] = schedule.incarnation;
    }
  }
  if (const auto* entries = std::get_if<core::CatalogReply>(&reply)) {
    for (const core::CatalogEntry& entry : entries->entries) seen_revision_ = entry.revision;
  }
}

void attribute(engine::Request& request) {
  auto* const command = std::get_if<core::Command>(&request);
  if (command == nullptr || std::holds_alternative<core::Enqueue>(*command)) return;
  std::visit(
      []<typename C>(C& of) {
        if constexpr (core::Attributed<C>) {
          core::Origin origin;
          origin.actor.name = SharedBytes("ann");
          of.by = std::make_shared<const core::Origin>(std::move(origin));
        }
      },
      *command);
}

}  // namespace millrace::sim
