// What both sides of TLS have in common: what is never spoken, and what is read from files.
#pragma once

#include <string>

#include "tls/api.hpp"

namespace engine::tls {

/// TLS 1.2 at least, no session kept, no renegotiation, no compression; nobody is asked for a
/// passphrase.
void set_limits(const Api& api, SslContext* context);

/// A certificate that is shown, and its key. Throws std::runtime_error naming the file that does
/// not do.
void show(const Api& api, SslContext* context, const std::string& certificate,
          const std::string& key);

/// Says that a file does not do, and why, as OpenSSL has it.
[[noreturn]] void fail(const Api& api, const char* what, const std::string& file);

}  // namespace engine::tls
