#include "http/peer/peer_dial.h"

#include <utility>

#include <boost/asio/buffer.hpp>

#include "http/peer/peer_access.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
using net::error_code;

constexpr std::size_t kMaxHeadBytes = 4 * 1024;
constexpr std::string_view kPlain = "http://";
constexpr std::string_view kEncrypted = "https://";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// The value of the first field of this name, in the case that nodes write; empty: none.
std::string_view field_in(std::string_view head, std::string_view name) {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(line);
  if (at == std::string_view::npos) return {};
  const std::string_view value = head.substr(at + line.size());
  return value.substr(0, value.find('\r'));
}

std::string head_for(const PeerUrl& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + url.host + "]" : url.host;
  return "GET /internal/v1/peer HTTP/1.1\r\nHost: " + host + ":" + url.port +
         "\r\nConnection: Upgrade\r\nUpgrade: " + std::string(kPeerProtocol) + "\r\n" +
         std::string(kPeerLevelField) + ": " + own_peer_level() + std::string(kHeadEnd);
}

}  // namespace

std::optional<PeerUrl> parse_peer_url(std::string_view url) {
  const bool encrypted = url.starts_with(kEncrypted);
  if (!encrypted && !url.starts_with(kPlain)) return std::nullopt;
  url.remove_prefix(encrypted ? kEncrypted.size() : kPlain.size());
  const std::size_t colon = url.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = url.substr(0, colon);
  const std::string_view port = url.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || port.empty() || port.size() > 5) return std::nullopt;
  if (host.find_first_of("/@[] \r\n") != std::string_view::npos) return std::nullopt;
  if (!bracketed && host.find(':') != std::string_view::npos) return std::nullopt;
  if (port.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return PeerUrl{encrypted, std::string(host), std::string(port)};
}

void PeerDial::start(const PeerUrl& url, std::uint64_t turn, Done done) {
  done_ = std::move(done);
  head_ = head_for(url);
  net::StreamMaker make_stream = net::make_tcp_stream;
  if (url.encrypted) {
    make_stream = [tls = tls_, host = url.host](net::Socket socket) {
      return tls->connect(std::move(socket), host);
    };
  }
  connector_->connect(url.host, url.port, turn, std::move(make_stream),
                      [self = shared_from_this()](Result<std::unique_ptr<net::ByteStream>> made) {
                        if (!made) return self->finish(std::unexpected(std::move(made.error())));
                        self->stream_ = std::move(*made);
                        self->send_head();
                      });
}

void PeerDial::cancel() {
  done_ = nullptr;
  connector_->cancel();
  stream_.reset();
}

void PeerDial::send_head() { stream_->write_some({asio::buffer(head_) + used_}, self()); }

void PeerDial::on_written(const error_code& error, std::size_t bytes) {
  if (!done_) return;
  if (error) return finish(failure("this node lost the connection: " + error.message()));
  used_ += bytes;
  if (used_ < head_.size()) return send_head();
  used_ = 0;
  head_.resize(kMaxHeadBytes);
  read_head();
}

void PeerDial::read_head() { stream_->read_some(asio::buffer(head_) + used_, self()); }

void PeerDial::on_read(const error_code& error, std::size_t bytes) {
  if (!done_) return;
  used_ += bytes;
  const std::size_t end = std::string_view(head_).substr(0, used_).find(kHeadEnd);
  if (end != std::string_view::npos) return upgraded(end + kHeadEnd.size());
  if (error)
    return finish(failure("the server at this URL does not answer as a node: " + error.message()));
  if (used_ == head_.size())
    return finish(
        failure("the server at this URL does not answer as a node: its response head is too long"));
  read_head();
}

void PeerDial::upgraded(std::size_t head_bytes) {
  const std::string_view head = std::string_view(head_).substr(0, head_bytes);
  if (!head.starts_with("HTTP/1.1 101 ") || head.find(kPeerProtocol) == std::string_view::npos) {
    return finish(failure("the server at this URL refuses nodes: " +
                          std::string(head.substr(0, head.find('\r')))));
  }
  Dialled dialled{std::move(stream_), head_.substr(head_bytes, used_ - head_bytes),
                  peer_level(field_in(head, kPeerLevelField))};
  finish(std::move(dialled));
}

void PeerDial::finish(Result<Dialled> dialled) {
  stream_.reset();
  std::exchange(done_, nullptr)(std::move(dialled));
}

}  // namespace millrace::http
