#include "net/connector.h"

#include <algorithm>
#include <utility>

namespace millrace::net {

void Connector::connect(const std::string& host, const std::string& port, std::uint64_t turn,
                        StreamMaker make_stream, Done done) {
  make_stream_ = std::move(make_stream);
  done_ = std::move(done);
  error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (!error) {
    addresses_.emplace_back(address, static_cast<std::uint16_t>(std::stoul(port)));
    return connect_to_next();
  }
  resolver_.emplace(context_);
  resolver_->async_resolve(
      host, port,
      [self = shared_from_this(), turn](const error_code& failed,
                                        const Tcp::resolver::results_type& found) {
        if (!self->done_) return;
        if (failed || found.empty()) return self->finish(failure("its name can't be resolved"));
        self->addresses_.assign(found.begin(), found.end());
        const auto first = static_cast<std::ptrdiff_t>(turn % self->addresses_.size());
        std::ranges::rotate(self->addresses_, self->addresses_.begin() + first);
        std::ranges::reverse(self->addresses_);
        self->connect_to_next();
      });
}

void Connector::connect_to_next() {
  const Tcp::endpoint address = addresses_.back();
  addresses_.pop_back();
  socket_ = std::make_unique<Socket>(context_);
  socket_->async_connect(address, [self = shared_from_this()](const error_code& error) {
    if (!self->done_) return;
    if (!error) {
      error_code ignored;
      self->socket_->set_option(Tcp::no_delay(true), ignored);
      return self->finish(self->make_stream_(std::move(*self->socket_)));
    }
    if (!self->addresses_.empty()) return self->connect_to_next();
    self->finish(failure("it can't be reached: " + error.message()));
  });
}

void Connector::finish(Result<std::unique_ptr<ByteStream>> connected) {
  socket_.reset();
  std::exchange(done_, nullptr)(std::move(connected));
}

void Connector::cancel() {
  done_ = nullptr;
  resolver_.reset();
  socket_.reset();
}

}  // namespace millrace::net
