// Opens a connection to another node and upgrades it, so that frames can be sent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/wire/peer_level.h"
#include "net/byte_stream.h"
#include "net/connector.h"
#include "net/tls.h"

namespace millrace::http {

// "http://10.0.0.7:7600" or "https://queue-1.internal:7600", as in store::NodeFacts.
struct PeerUrl {
  bool encrypted = false;
  std::string host;  // an address or a name, without brackets
  std::string port;
};
std::optional<PeerUrl> parse_peer_url(std::string_view url);

// Used on the loop's thread. Has no deadline: the caller limits the time.
class PeerDial final : public std::enable_shared_from_this<PeerDial>, net::ByteStream::User {
 public:
  struct Dialled {
    std::unique_ptr<net::ByteStream> stream;
    std::string received;       // the bytes that came after the upgrade
    engine::PeerLevel level{};  // the newest that both sides know
  };
  // Called once, from the loop. The error is text for the log.
  using Done = std::function<void(Result<Dialled>)>;

  // `tls`: for https URLs, which fail if it is null. Must outlive the dial.
  PeerDial(boost::asio::io_context& context, const net::Tls* tls)
      : connector_(std::make_shared<net::Connector>(context)), tls_(tls) {}
  PeerDial(const PeerDial&) = delete;
  PeerDial& operator=(const PeerDial&) = delete;

  // `turn`: see net::Connector.
  void start(const PeerUrl& url, std::uint64_t turn, Done done);
  // `done` is not called afterwards.
  void cancel();

 private:
  void send_head();
  void read_head();
  void on_written(const net::error_code& error, std::size_t bytes) override;
  void on_read(const net::error_code& error, std::size_t bytes) override;
  void upgraded(std::size_t head_bytes);
  void finish(Result<Dialled> dialled);
  std::shared_ptr<net::ByteStream::User> self() { return {shared_from_this(), this}; }

  const std::shared_ptr<net::Connector> connector_;
  const net::Tls* const tls_;
  std::unique_ptr<net::ByteStream> stream_;
  std::string head_;      // the request, then the answer
  std::size_t used_ = 0;  // the bytes of the request written, then those of the answer received
  Done done_;             // none: cancelled, or called already
};

}  // namespace millrace::http
