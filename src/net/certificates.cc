#include "net/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace millrace::net {
namespace {

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

constexpr long kX509Version3 = 2;
constexpr std::size_t kMaxCommonName = 64;
constexpr long kHourS = 3600;
constexpr long kDayS = 24 * kHourS;

std::unexpected<Error> failed(std::string_view what) {
  const unsigned long code = ::ERR_peek_last_error();
  const char* const reason = ::ERR_reason_error_string(code);
  ::ERR_clear_error();
  return failure(std::string("can't ") + std::string(what) +
                 (reason == nullptr ? "" : std::string(": ") + reason));
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

// Names are put into an extension's text, in which these characters have a meaning.
bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 253 &&
         name.find_first_of(", =\"\\\n\r\t@") == std::string::npos;
}

bool set_number(X509& certificate) {
  std::array<unsigned char, 16> number{};
  if (::RAND_bytes(number.data(), number.size()) != 1) return false;
  number[0] &= 0x7f;  // positive
  number[0] |= 0x01;  // not zero
  BIGNUM* const bignum = ::BN_bin2bn(number.data(), number.size(), nullptr);
  const bool set = bignum != nullptr &&
                   ::BN_to_ASN1_INTEGER(bignum, ::X509_get_serialNumber(&certificate)) != nullptr;
  ::BN_free(bignum);
  return set;
}

bool set_common_name(X509_NAME* subject, const std::string& name) {
  const std::string cut = name.substr(0, kMaxCommonName);
  return ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(cut.data()),
                                      static_cast<int>(cut.size()), -1, 0) == 1;
}

bool extend(X509& certificate, X509& issuer, int extension, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const made = ::X509V3_EXT_conf_nid(nullptr, &context, extension, value.c_str());
  const bool added = made != nullptr && ::X509_add_ext(&certificate, made, -1) == 1;
  ::X509_EXTENSION_free(made);
  return added;
}

// Without extensions and signature.
Certificate begin_certificate(EVP_PKEY& key, const std::string& name, std::chrono::days life) {
  Certificate certificate(::X509_new());
  const bool made =
      certificate && ::X509_set_version(certificate.get(), kX509Version3) == 1 &&
      set_number(*certificate) &&
      ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), -kHourS) != nullptr &&
      ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), life.count() * kDayS) != nullptr &&
      ::X509_set_pubkey(certificate.get(), &key) == 1 &&
      set_common_name(::X509_get_subject_name(certificate.get()), name);
  return made ? std::move(certificate) : nullptr;
}

Result<Certified> written(X509& certificate, EVP_PKEY& key) {
  const Bio certificate_text(::BIO_new(::BIO_s_mem()));
  const Bio key_text(::BIO_new(::BIO_s_mem()));
  if (!certificate_text || !key_text ||
      ::PEM_write_bio_X509(certificate_text.get(), &certificate) != 1 ||
      ::PEM_write_bio_PrivateKey(key_text.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return failed("write the certificate");
  }
  return Certified{text_of(certificate_text.get()), text_of(key_text.get())};
}

Key new_key() { return Key(::EVP_EC_gen("P-256")); }

}  // namespace

Result<Certified> make_authority(const std::string& name) {
  if (name.empty() || name.size() > kMaxCommonName) {
    return failure("the authority's name must have 1 to 64 bytes");
  }
  const Key key = new_key();
  if (!key) return failed("make a key");
  const Certificate made = begin_certificate(*key, name, kAuthorityLife);
  if (!made || ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(made.get())) != 1 ||
      !extend(*made, *made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !extend(*made, *made, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !extend(*made, *made, NID_subject_key_identifier, "hash") ||
      ::X509_sign(made.get(), key.get(), ::EVP_sha256()) == 0) {
    return failed("make the authority's certificate");
  }
  return written(*made, *key);
}

Result<Certified> issue_certificate(const Certified& authority,
                                    const std::vector<std::string>& names, std::chrono::days life) {
  if (names.empty()) return failure("a certificate needs a name or an address to be for");
  std::string alternatives;
  for (const std::string& name : names) {
    if (!is_name(name)) return failure("\"" + name + "\" is not a host name or an address");
    if (!alternatives.empty()) alternatives += ',';
    alternatives += (is_address(name) ? "IP:" : "DNS:") + name;
  }
  const Bio certificate_text(::BIO_new_mem_buf(authority.certificate.data(),
                                               static_cast<int>(authority.certificate.size())));
  const Bio key_text(
      ::BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size())));
  const Certificate issuer(::PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  if (!issuer) return failed("read the authority's certificate");
  const Key issuer_key(::PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (!issuer_key) return failed("read the authority's key");
  if (::X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ::ERR_clear_error();
    return failure("the authority's key is not that of its certificate");
  }
  const Key key = new_key();
  if (!key) return failed("make a key");
  const Certificate made = begin_certificate(*key, names.front(), life);
  if (!made || ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(issuer.get())) != 1 ||
      !extend(*made, *issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !extend(*made, *issuer, NID_key_usage, "critical,digitalSignature") ||
      !extend(*made, *issuer, NID_ext_key_usage, "serverAuth,clientAuth") ||
      !extend(*made, *issuer, NID_subject_key_identifier, "hash") ||
      !extend(*made, *issuer, NID_authority_key_identifier, "keyid") ||
      !extend(*made, *issuer, NID_subject_alt_name, alternatives) ||
      ::X509_sign(made.get(), issuer_key.get(), ::EVP_sha256()) == 0) {
    return failed("make the certificate");
  }
  return written(*made, *key);
}

}  // namespace millrace::net
