#include "tls/pem_files.hpp"

#include <stdexcept>

namespace engine::tls {

namespace {

// Of openssl/ssl.h.
constexpr int set_mode = 33, set_session_cache = 44, set_least_version = 123, pem = 1;
constexpr long release_buffers = 16, tls_1_2 = 0x0303;
constexpr std::uint64_t no_compression = 1U << 17, no_ticket = 1U << 14,
                        no_renegotiation = 1U << 30;
/// The fastest first, as gRPC's own servers have it.
constexpr const char* suites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// Nobody is asked for a passphrase at a terminal.
int no_password(char*, int, int, void*) { return 0; }

}  // namespace

void set_limits(const Api& api, SslContext* context) {
  api.context_ctrl(context, set_least_version, tls_1_2, nullptr);
  api.context_ctrl(context, set_session_cache, 0, nullptr);
  api.context_ctrl(context, set_mode, release_buffers, nullptr);
  api.context_set_options(context, no_compression | no_ticket | no_renegotiation);
  api.context_set_suites(context, suites);
  api.context_set_password(context, no_password);
}

void show(const Api& api, SslContext* context, const std::string& certificate,
          const std::string& key) {
  api.clear_errors();
  if (api.context_certificate(context, certificate.c_str()) != 1)
    fail(api, "the certificate", certificate);
  if (api.context_key(context, key.c_str(), pem) != 1 || api.context_check_key(context) != 1)
    fail(api, "the certificate's key", key);
}

void fail(const Api& api, const char* what, const std::string& file) {
  const char* const reason = api.reason(api.last_error());
  const std::string why = reason == nullptr ? "it cannot be read" : reason;
  api.clear_errors();
  throw std::runtime_error(std::string(what) + " '" + file + "': " + why);
}

}  // namespace engine::tls
