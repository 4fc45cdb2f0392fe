#include "tls/context.hpp"

#include <new>
#include <stdexcept>
#include <string_view>

namespace engine::tls {

namespace {

// Of openssl/ssl.h.
constexpr int set_mode = 33, set_session_cache = 44, set_max_certificates = 51,
              set_least_version = 123;
constexpr long release_buffers = 16, tls_1_2 = 0x0303;
constexpr std::uint64_t no_compression = 1U << 17, no_ticket = 1U << 14,
                        no_renegotiation = 1U << 30, cipher_by_server = 1U << 22;
constexpr int pem = 1, ask_client = 1 | 2;
constexpr int alpn_ok = 0, alpn_fatal = 2;
/// The fastest first, as gRPC's own servers have it.
constexpr const char* suites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
/// Bytes of a client's certificates, which it may announce before anybody knows who it is.
constexpr long most_certificates = 32 * 1024;

/// Nobody is asked for a passphrase at a terminal.
int no_password(char*, int, int, void*) { return 0; }

/// Of what the connection speaks, the first that the client offers.
int choose(Ssl* ssl, const unsigned char** chosen, unsigned char* chosen_bytes,
           const unsigned char* offered, unsigned offered_bytes, void* user) {
  const auto& api = *static_cast<const Api*>(user);
  const auto* const wanted = static_cast<std::string_view*>(api.ssl_data(ssl, protocols_place));
  if (wanted == nullptr) return alpn_fatal;
  for (std::size_t i = 0; i < wanted->size(); i += 1 + static_cast<unsigned char>((*wanted)[i])) {
    const std::string_view one = wanted->substr(i, 1 + static_cast<unsigned char>((*wanted)[i]));
    for (unsigned at = 0; at < offered_bytes && offered_bytes - at > offered[at];
         at += 1U + offered[at]) {
      if (std::string_view(reinterpret_cast<const char*>(offered + at), 1U + offered[at]) != one)
        continue;
      *chosen = offered + at + 1;
      *chosen_bytes = offered[at];
      return alpn_ok;
    }
  }
  return alpn_fatal;
}

[[noreturn]] void fail(const Api& api, const char* what, const std::string& file) {
  const char* const reason = api.reason(api.last_error());
  const std::string why = reason == nullptr ? "it cannot be read" : reason;
  api.clear_errors();
  throw std::runtime_error(std::string(what) + " '" + file + "': " + why);
}

}  // namespace

Context::Context(const Files& files)
    : api_(Api::open()), context_(api_.context_new(api_.server_method())) {
  if (context_ == nullptr) throw std::bad_alloc();
  try {
    set_limits();
    load(files);
  } catch (...) {
    api_.context_free(context_);
    throw;
  }
}

Context::~Context() { api_.context_free(context_); }

void Context::set_limits() {
  api_.context_ctrl(context_, set_least_version, tls_1_2, nullptr);
  api_.context_ctrl(context_, set_session_cache, 0, nullptr);
  api_.context_ctrl(context_, set_mode, release_buffers, nullptr);
  api_.context_ctrl(context_, set_max_certificates, most_certificates, nullptr);
  api_.context_set_options(context_,
                           no_compression | no_ticket | no_renegotiation | cipher_by_server);
  api_.context_set_suites(context_, suites);
  api_.context_set_password(context_, no_password);
  api_.context_set_alpn(context_, choose, const_cast<Api*>(&api_));
}

void Context::load(const Files& files) {
  api_.clear_errors();
  if (api_.context_certificate(context_, files.certificate.c_str()) != 1)
    fail(api_, "the certificate", files.certificate);
  if (api_.context_key(context_, files.key.c_str(), pem) != 1 ||
      api_.context_check_key(context_) != 1)
    fail(api_, "the certificate's key", files.key);
  if (files.client_ca.empty()) return;
  Names* const names = api_.names_of(files.client_ca.c_str());
  if (names == nullptr || api_.context_verify_by(context_, files.client_ca.c_str()) != 1)
    fail(api_, "the clients' authorities", files.client_ca);
  api_.context_set_names(context_, names);
  api_.context_set_verify(context_, ask_client, nullptr);
}

}  // namespace engine::tls
