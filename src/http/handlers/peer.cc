// The entrance for other nodes; http/peer/peer_frames.h describes the protocol behind it.
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {

// Does not wait: the session hands the connection over right afterwards.
Task<void> connect_peer(Call& call) {
  const RequestHead& head = *call.head;
  const Field* upgrade = head.find("upgrade");
  const bool plain = head.method == api::Method::kGet && !head.http_1_0 && call.body.empty();
  if (call.services.peers == nullptr) {
    call.refuse(api::ProblemCode::kNotFound, "there is no such path");
  } else if (!plain || upgrade == nullptr || upgrade->value != kPeerProtocol) {
    call.refuse(api::ProblemCode::kInvalidRequest,
                "only nodes of the same store connect to this path, with Upgrade: " +
                    std::string(kPeerProtocol));
  } else if (call.services.peers->certified() && call.certified_name.empty()) {
    call.refuse(api::ProblemCode::kForbidden,
                "nodes must show a certificate that an authority of this node's tls.ca has signed");
  } else if (call.services.closing) {  // until then the node's successors ask it for its shards
    call.refuse(service::problem_of(engine::Unavailable::kDraining));
  } else {
    call.response.status = 101;
    const Field* level = head.find(kPeerLevelHead);
    call.response.upgrades = peer_level(level == nullptr ? std::string_view() : level->value);
  }
  co_return;
}

}  // namespace millrace::http
