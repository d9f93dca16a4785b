// Connects to an address, or tries a name's addresses one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/tcp_stream.h"

namespace millrace::net {

// Used only on the thread of its loop.
class Connector : public std::enable_shared_from_this<Connector> {
 public:
  // Called from the loop, never from inside connect(). The error completes a sentence.
  using Done = std::function<void(Result<std::unique_ptr<ByteStream>>)>;

  explicit Connector(boost::asio::io_context& context) : context_(context) {}
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // `host`: an address or a name; `port`: at most five digits. `turn` selects which of several
  // addresses is tried first, since one that never answers uses up all of the time. Call at most
  // once.
  void connect(const std::string& host, const std::string& port, std::uint64_t turn,
               StreamMaker make_stream, Done done);
  // `done` is not called afterwards.
  void cancel();

 private:
  using Tcp = boost::asio::ip::tcp;

  void connect_to_next();
  void finish(Result<std::unique_ptr<ByteStream>> connected);

  boost::asio::io_context& context_;
  std::optional<boost::asio::ip::basic_resolver<Tcp, Executor>> resolver_;  // owns a thread
  std::vector<Tcp::endpoint> addresses_;                                    // the next one last
  std::unique_ptr<Socket> socket_;
  StreamMaker make_stream_;
  Done done_;  // none: nobody waits for the result
};

}  // namespace millrace::net
