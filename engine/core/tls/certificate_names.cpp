#include "tls/certificate_names.hpp"

#include <array>
#include <memory>

namespace engine::tls {

namespace {

// Of openssl/obj_mac.h and x509v3.h.
constexpr int common_name = 13, alternative_names = 85;
constexpr int mail = 1, host = 2, uri = 6;
constexpr int most_bytes = 1024;  ///< of a common name; longer ones are none

void add_alternatives(const Api& api, const X509* certificate, std::vector<std::string>& names) {
  const std::unique_ptr<void, void (*)(void*)> all(
      api.extension(certificate, alternative_names, nullptr, nullptr), api.names_free);
  if (all == nullptr) return;
  for (int i = 0; i < api.stack_size(all.get()); ++i) {
    int kind = 0;
    const void* const value = api.name_value(api.stack_item(all.get(), i), &kind);
    if (kind != mail && kind != host && kind != uri) continue;
    names.emplace_back(reinterpret_cast<const char*>(api.text_data(value)),
                       static_cast<std::size_t>(api.text_bytes(value)));
  }
}

}  // namespace

std::vector<std::string> certificate_names(const Api& api, const Ssl* ssl) {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(api.peer_certificate(ssl),
                                                           api.certificate_free);
  std::vector<std::string> names;
  if (certificate == nullptr) return names;
  add_alternatives(api, certificate.get(), names);
  std::array<char, most_bytes> text{};
  const int bytes =
      api.subject_text(api.subject(certificate.get()), common_name, text.data(), most_bytes);
  if (bytes > 0 && bytes < most_bytes - 1)
    names.emplace_back(text.data(), static_cast<std::size_t>(bytes));
  return names;
}

}  // namespace engine::tls
