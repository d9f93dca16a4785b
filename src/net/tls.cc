#include "net/tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "net/tls_stream.h"

namespace millrace::net {
namespace {

using Context = std::shared_ptr<SSL_CTX>;
template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<&::BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<&::X509_free>>;

// For TLS 1.2; TLS 1.3 has only such ciphers.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

std::string reason() {
  const unsigned long code = ::ERR_peek_error();
  const char* const text = ERR_SYSTEM_ERROR(code) ? std::strerror(ERR_GET_REASON(code))
                                                  : ::ERR_reason_error_string(code);
  ::ERR_clear_error();
  return text == nullptr ? "OpenSSL gives no reason" : text;
}

std::unexpected<Error> unusable(const std::string& file, std::string_view what,
                                std::string_view why) {
  return failure(fmt::format("can't use \"{}\" as {}: {}", file, what, why));
}

// The files are read here, and not by OpenSSL, which would wait for ever at a FIFO.
Result<Bio> read_pem(const std::string& file, std::string_view what) {
  const auto opened = open_file(file, O_RDONLY);
  if (!opened) return unusable(file, what, opened.error().reason);
  const auto content = read_all(opened->number(), kMaxFileBytes);
  if (!content) return unusable(file, what, content.error().message);
  Bio copy(::BIO_new(::BIO_s_mem()));
  MILLRACE_CHECK(copy != nullptr);  // out of memory
  MILLRACE_CHECK(::BIO_write(copy.get(), content->data(), static_cast<int>(content->size())) ==
                 static_cast<int>(content->size()));
  return copy;
}

// The next certificate; null at the end, and at a fault, which stays in OpenSSL's queue.
Certificate next_certificate(BIO& pem) {
  Certificate next(::PEM_read_bio_X509_AUX(&pem, nullptr, nullptr, nullptr));
  if (!next && ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE) ::ERR_clear_error();
  return next;
}

Status use_certificate(SSL_CTX& context, const std::string& file) {
  constexpr std::string_view kWhat = "the certificate";
  auto pem = read_pem(file, kWhat);
  if (!pem) return std::unexpected(std::move(pem.error()));
  const Certificate first(::PEM_read_bio_X509_AUX(pem->get(), nullptr, nullptr, nullptr));
  if (!first || ::SSL_CTX_use_certificate(&context, first.get()) != 1) {
    return unusable(file, kWhat, reason());
  }
  while (const Certificate more = next_certificate(**pem)) {
    if (::SSL_CTX_add1_chain_cert(&context, more.get()) != 1) break;
  }
  if (::ERR_peek_error() != 0) return unusable(file, kWhat, reason());
  return {};
}

Status use_key(SSL_CTX& context, const TlsFiles& files) {
  constexpr std::string_view kWhat = "the key";
  auto pem = read_pem(files.key, kWhat);
  if (!pem) return std::unexpected(std::move(pem.error()));
  // A key with a passphrase is refused: OpenSSL would ask for it at the terminal, and wait.
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  const Key key(::PEM_read_bio_PrivateKey(pem->get(), nullptr, no_passphrase, nullptr));
  if (key && ::SSL_CTX_use_PrivateKey(&context, key.get()) == 1) return {};
  if (ERR_GET_REASON(::ERR_peek_error()) != X509_R_KEY_VALUES_MISMATCH) {
    return unusable(files.key, kWhat, reason());
  }
  ::ERR_clear_error();
  return failure(fmt::format("the key \"{}\" is not that of the certificate \"{}\"", files.key,
                             files.certificate));
}

// A server also names them to its clients.
Status trust_authorities(SSL_CTX& context, const std::string& file) {
  constexpr std::string_view kWhat = "the authorities' certificates";
  auto pem = read_pem(file, kWhat);
  if (!pem) return std::unexpected(std::move(pem.error()));
  bool any = false;
  while (const Certificate next = next_certificate(**pem)) {
    any = true;
    if (::X509_STORE_add_cert(::SSL_CTX_get_cert_store(&context), next.get()) != 1 ||
        ::SSL_CTX_add_client_CA(&context, next.get()) != 1) {
      break;
    }
  }
  if (::ERR_peek_error() != 0) return unusable(file, kWhat, reason());
  return any ? Status() : unusable(file, kWhat, "it has no certificate");
}

Status use_files(SSL_CTX& context, const TlsFiles& files) {
  ::ERR_clear_error();
  if (!files.certificate.empty()) {
    if (Status used = use_certificate(context, files.certificate); !used) return used;
  }
  if (!files.key.empty()) {
    if (Status used = use_key(context, files); !used) return used;
  }
  return files.authorities.empty() ? Status() : trust_authorities(context, files.authorities);
}

Result<Context> make_context(TlsSide side, const TlsFiles& files) {
  const bool serves = side == TlsSide::kServer;
  Context context(::SSL_CTX_new(serves ? ::TLS_server_method() : ::TLS_client_method()),
                  &::SSL_CTX_free);
  if (!context) return failure("can't begin TLS: " + reason());
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_cipher_list(context.get(), kCiphers);
  ::SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA);
  if (serves) {
    // Only HTTP/1.1 is spoken. A client that offers only other protocols gets an alert.
    ::SSL_CTX_set_alpn_select_cb(
        context.get(),
        [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
           unsigned int bytes, void*) {
          static constexpr std::array<unsigned char, 9> kHttp = {8,   'h', 't', 't', 'p',
                                                                 '/', '1', '.', '1'};
          unsigned char* found = nullptr;
          if (::SSL_select_next_proto(&found, size, kHttp.data(), kHttp.size(), offered, bytes) !=
              OPENSSL_NPN_NEGOTIATED) {
            return SSL_TLSEXT_ERR_ALERT_FATAL;
          }
          *chosen = found;
          return SSL_TLSEXT_ERR_OK;
        },
        nullptr);
    static constexpr std::array<unsigned char, 8> kSessions = {'m', 'i', 'l', 'l',
                                                               'r', 'a', 'c', 'e'};
    ::SSL_CTX_set_session_id_context(context.get(), kSessions.data(), kSessions.size());
  }
  if (Status used = use_files(*context, files); !used) {
    return std::unexpected(std::move(used.error()));
  }
  if (!serves) {
    if (files.authorities.empty()) ::SSL_CTX_set_default_verify_paths(context.get());
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  } else if (!files.authorities.empty()) {
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  }
  return context;
}

// Requires the peer's certificate to be for this name or address.
void expect(SSL& ssl, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
  if (is_address) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(&ssl), host.c_str());
  } else {
    ::SSL_set1_host(&ssl, host.c_str());
    ::SSL_set_tlsext_host_name(&ssl, host.c_str());
  }
}

}  // namespace

Tls::Tls(TlsSide side, TlsFiles files) : side_(side), files_(std::move(files)), seen_(look()) {}
Tls::~Tls() = default;

Result<std::unique_ptr<Tls>> Tls::load(TlsSide side, TlsFiles files) {
  std::unique_ptr<Tls> tls(new Tls(side, std::move(files)));
  auto context = make_context(side, tls->files_);
  if (!context) return std::unexpected(std::move(context.error()));
  tls->context_ = std::move(*context);
  return tls;
}

Tls::Seen Tls::look() const {
  Seen seen;
  for (const std::string* file : {&files_.certificate, &files_.key, &files_.authorities}) {
    struct stat facts{};
    if (file->empty() || ::stat(file->c_str(), &facts) != 0) continue;
    seen += fmt::format("{}.{} {} {} ", facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_size,
                        facts.st_ino);
  }
  return seen;
}

Result<bool> Tls::reload_if_changed() {
  Seen now = look();
  if (now == seen_) return false;
  seen_ = std::move(now);
  auto context = make_context(side_, files_);
  if (!context) return std::unexpected(std::move(context.error()));
  const std::lock_guard lock(mutex_);
  context_ = std::move(*context);
  return true;
}

std::shared_ptr<ssl_ctx_st> Tls::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

std::optional<Time> Tls::expires_at() const {
  const auto context = this->context();
  const X509* const certificate = ::SSL_CTX_get0_certificate(context.get());
  if (certificate == nullptr) return std::nullopt;
  std::tm parts{};
  if (::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &parts) != 1) return std::nullopt;
  return time_from_ms(std::int64_t{::timegm(&parts)} * 1'000);
}

std::unique_ptr<ByteStream> Tls::accept(Socket socket) const {
  SSL* const ssl = ::SSL_new(context().get());
  MILLRACE_CHECK(ssl != nullptr);  // out of memory
  ::SSL_set_accept_state(ssl);
  return std::make_unique<TlsStream>(std::move(socket), ssl);
}

std::unique_ptr<ByteStream> Tls::connect(Socket socket, const std::string& host) const {
  SSL* const ssl = ::SSL_new(context().get());
  MILLRACE_CHECK(ssl != nullptr);  // out of memory
  expect(*ssl, host);
  ::SSL_set_connect_state(ssl);
  return std::make_unique<TlsStream>(std::move(socket), ssl);
}

}  // namespace millrace::net
