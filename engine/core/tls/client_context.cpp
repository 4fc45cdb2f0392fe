#include "tls/client_context.hpp"

#include <arpa/inet.h>

#include <new>

#include "tls/pem_files.hpp"

namespace engine::tls {

namespace {

// Of openssl/ssl.h and tls1.h.
constexpr int set_host_name = 55, verify_peer = 1;

bool is_ip_address(const std::string& host) noexcept {
  in6_addr found;
  return inet_pton(AF_INET, host.c_str(), &found) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &found) == 1;
}

}  // namespace

ClientContext::ClientContext(const ClientFiles& files)
    : api_(Api::open()), context_(api_.context_new(api_.client_method())) {
  if (context_ == nullptr) throw std::bad_alloc();
  try {
    set_limits(api_, context_);
    api_.clear_errors();
    if (api_.context_verify_by(context_, files.ca.c_str()) != 1)
      fail(api_, "the servers' authorities", files.ca);
    api_.context_set_verify(context_, verify_peer, nullptr);
    if (!files.certificate.empty()) show(api_, context_, files.certificate, files.key);
  } catch (...) {
    api_.context_free(context_);
    throw;
  }
}

ClientContext::~ClientContext() { api_.context_free(context_); }

Ssl* ClientContext::connection(const std::string& host, std::string_view protocols) const {
  Ssl* const ssl = api_.ssl_new(context_);
  if (ssl == nullptr) throw std::bad_alloc();
  const auto* const offered = reinterpret_cast<const unsigned char*>(protocols.data());
  const bool is_made = api_.ssl_set_host(ssl, host.c_str()) == 1 &&
                       api_.ssl_offer(ssl, offered, static_cast<unsigned>(protocols.size())) == 0 &&
                       (is_ip_address(host) ||
                        api_.ssl_ctrl(ssl, set_host_name, 0, const_cast<char*>(host.c_str())) == 1);
  if (!is_made) {
    api_.ssl_free(ssl);
    throw std::bad_alloc();
  }
  api_.ssl_set_connect_state(ssl);
  return ssl;
}

}  // namespace engine::tls
