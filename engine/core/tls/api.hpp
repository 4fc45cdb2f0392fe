// OpenSSL's functions, found when its libraries are opened: no headers, nothing to link against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace engine::tls {

// Opaque to us, too.
using SslContext = struct OpaqueSslContext;
using SslMethod = struct OpaqueSslMethod;
using Ssl = struct OpaqueSsl;
using Bio = struct OpaqueBio;
using BioMethod = struct OpaqueBioMethod;
using Names = struct OpaqueX509Names;
using X509 = struct OpaqueX509;
using Subject = struct OpaqueX509Name;

/// What SSL_get_error says.
namespace error {
inline constexpr int want_read = 2;
}  // namespace error

/// Flags of a BIO: it is to be asked again.
namespace bio_flag {
inline constexpr int read = 1, should_retry = 8;
}  // namespace bio_flag

/// The functions that we use, of OpenSSL 3.0 and later.
struct Api {
  const SslMethod* (*server_method)();
  const SslMethod* (*client_method)();
  SslContext* (*context_new)(const SslMethod*);
  void (*context_free)(SslContext*);
  long (*context_ctrl)(SslContext*, int command, long number, void* pointer);
  std::uint64_t (*context_set_options)(SslContext*, std::uint64_t);
  int (*context_set_suites)(SslContext*, const char* names);  ///< of TLS 1.3
  void (*context_set_password)(SslContext*, int (*)(char* to, int bytes, int writes, void* user));
  int (*context_certificate)(SslContext*, const char* file);
  int (*context_key)(SslContext*, const char* file, int type);
  int (*context_check_key)(const SslContext*);
  int (*context_verify_by)(SslContext*, const char* file);
  void (*context_set_verify)(SslContext*, int mode, void*);
  Names* (*names_of)(const char* file);
  void (*context_set_names)(SslContext*, Names*);
  void (*context_set_alpn)(SslContext*,
                           int (*)(Ssl*, const unsigned char** chosen, unsigned char* chosen_bytes,
                                   const unsigned char* offered, unsigned offered_bytes,
                                   void* user),
                           void* user);

  Ssl* (*ssl_new)(SslContext*);
  void (*ssl_free)(Ssl*);
  void (*ssl_set_accept_state)(Ssl*);
  void (*ssl_set_connect_state)(Ssl*);
  int (*ssl_set_host)(Ssl*, const char* host);  ///< that the other side has to be
  int (*ssl_offer)(Ssl*, const unsigned char* protocols, unsigned bytes);  ///< 0: done
  long (*ssl_ctrl)(Ssl*, int command, long number, void* pointer);
  int (*ssl_handshake)(Ssl*);
  long (*ssl_verified)(const Ssl*);  ///< 0: the other side is who it says it is
  const char* (*verify_reason)(long verified);
  void (*ssl_set_bio)(Ssl*, Bio* read, Bio* write);
  int (*ssl_set_data)(Ssl*, int place, void*);
  void* (*ssl_data)(const Ssl*, int place);
  int (*ssl_read)(Ssl*, void* to, int bytes);
  int (*ssl_write)(Ssl*, const void* from, int bytes);
  int (*ssl_shutdown)(Ssl*);
  int (*ssl_error)(const Ssl*, int returned);
  int (*ssl_is_finished)(const Ssl*);  ///< the handshake

  X509* (*peer_certificate)(const Ssl*);  ///< the caller's to free; null: none was shown
  void (*certificate_free)(X509*);
  const Subject* (*subject)(const X509*);
  int (*subject_text)(const Subject*, int kind, char* to, int bytes);
  void* (*extension)(const X509*, int kind, int* is_critical, int* from);
  int (*stack_size)(const void*);
  void* (*stack_item)(const void*, int place);
  void* (*name_value)(const void*, int* kind);
  void (*names_free)(void*);
  const unsigned char* (*text_data)(const void*);
  int (*text_bytes)(const void*);

  unsigned char* (*sha256)(const unsigned char*, std::size_t, unsigned char* to);
  int (*compare)(const void*, const void*, std::size_t);  ///< takes as long whatever differs

  BioMethod* (*method_new)(int type, const char* name);
  int (*method_set_read)(BioMethod*, int (*)(Bio*, char* to, int bytes));
  int (*method_set_write)(BioMethod*, int (*)(Bio*, const char* from, int bytes));
  int (*method_set_ctrl)(BioMethod*, long (*)(Bio*, int command, long number, void* pointer));
  Bio* (*bio_new)(const BioMethod*);
  void (*bio_set_data)(Bio*, void*);
  void* (*bio_data)(Bio*);
  void (*bio_set_init)(Bio*, int);
  void (*bio_set_flags)(Bio*, int);
  void (*bio_clear_flags)(Bio*, int);

  unsigned long (*last_error)();
  const char* (*reason)(unsigned long error);
  void (*clear_errors)();

  /// Opens both libraries, the first time. Throws std::runtime_error saying what was tried and why
  /// it failed. Never closed.
  [[nodiscard]] static const Api& open();

  /// What it was found as.
  std::string name;

 private:
  Api();
};

}  // namespace engine::tls
