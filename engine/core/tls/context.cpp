#include "tls/context.hpp"

#include <new>
#include <string_view>

#include "tls/pem_files.hpp"

namespace engine::tls {

namespace {

// Of openssl/ssl.h.
constexpr int set_max_certificates = 51;
constexpr std::uint64_t cipher_by_server = 1U << 22;
constexpr int ask_client = 1 | 2;
constexpr int alpn_ok = 0, alpn_fatal = 2;
/// Bytes of a client's certificates, which it may announce before anybody knows who it is.
constexpr long most_certificates = 32 * 1024;

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
  tls::set_limits(api_, context_);
  api_.context_ctrl(context_, set_max_certificates, most_certificates, nullptr);
  api_.context_set_options(context_, cipher_by_server);
  api_.context_set_alpn(context_, choose, const_cast<Api*>(&api_));
}

void Context::load(const Files& files) {
  show(api_, context_, files.certificate, files.key);
  if (files.client_ca.empty()) return;
  Names* const names = api_.names_of(files.client_ca.c_str());
  if (names == nullptr || api_.context_verify_by(context_, files.client_ca.c_str()) != 1)
    fail(api_, "the clients' authorities", files.client_ca);
  api_.context_set_names(context_, names);
  api_.context_set_verify(context_, ask_client, nullptr);
}

}  // namespace engine::tls
