// Connects to an address, or to a name's addresses one after the other.
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

// On the thread of its loop.
class Connector : public std::enable_shared_from_this<Connector> {
 public:
  // From the loop, not from within connect(). The error is the end of a sentence.
  using Done = std::function<void(Result<std::unique_ptr<ByteStream>>)>;

  explicit Connector(boost::asio::io_context& context) : context_(context) {}
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // `host`: an address or a name; `port`: at most five digits. `turn`: which of several addresses
  // comes first, since one that never answers takes all the time there is. At most once.
  void connect(const std::string& host, const std::string& port, std::uint64_t turn,
               StreamMaker make_stream, Done done);
  // It is not told what comes of it.
  void cancel();

 private:
  using Tcp = boost::asio::ip::tcp;

  void connect_to_next();
  void finish(Result<std::unique_ptr<ByteStream>> connected);

  boost::asio::io_context& context_;
  std::optional<boost::asio::ip::basic_resolver<Tcp, Executor>> resolver_;  // has a thread
  std::vector<Tcp::endpoint> addresses_;                                    // the next one last
  std::unique_ptr<Socket> socket_;
  StreamMaker make_stream_;
  Done done_;  // none: nobody waits any more
};

}  // namespace millrace::net
