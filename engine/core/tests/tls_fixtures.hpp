// A certificate that is made for a test, and OpenSSL as a client has it.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "test.hpp"
#include "tls/context.hpp"

namespace engine::test {

/// A function of OpenSSL's by its name.
template <typename Function>
Function* openssl(const char* name) {
  for (const char* const library : {"libssl.so.3", "libcrypto.so.3"})
    if (void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL))
      if (void* const found = dlsym(handle, name)) return reinterpret_cast<Function*>(found);
  throw std::runtime_error(std::string("OpenSSL lacks ") + name);
}

inline bool has_openssl() {
  try {
    return !tls::Api::open().name.empty();
  } catch (const std::runtime_error&) {
    return false;
  }
}

/// Files of a certificate for the host `server` that signed itself, and its key.
class MadeCertificate {
 public:
  MadeCertificate() {
    using std::FILE;
    CHECK(mkdtemp(folder_.data()) != nullptr);
    files.certificate = folder_ + "/certificate";
    files.key = folder_ + "/key";
    void* const key = openssl<void*(void*, void*, const char*, ...)>("EVP_PKEY_Q_keygen")(
        nullptr, nullptr, "EC", "P-256");
    void* const made = openssl<void*()>("X509_new")();
    openssl<int(void*, long)>("X509_set_version")(made, 2);
    const auto adjust = openssl<void*(void*, long)>("X509_gmtime_adj");
    adjust(openssl<void*(void*)>("X509_getm_notBefore")(made), 0);
    adjust(openssl<void*(void*)>("X509_getm_notAfter")(made), 3600);
    openssl<int(void*, void*)>("X509_set_pubkey")(made, key);
    void* const name = openssl<void*(const void*)>("X509_get_subject_name")(made);
    constexpr int ascii = 0x1001;
    openssl<int(void*, const char*, int, const char*, int, int, int)>("X509_NAME_add_entry_by_txt")(
        name, "CN", ascii, "server", -1, -1, 0);
    openssl<int(void*, const void*)>("X509_set_issuer_name")(made, name);
    const void* const sha256 = openssl<const void*()>("EVP_sha256")();
    CHECK(openssl<int(void*, void*, const void*)>("X509_sign")(made, key, sha256) > 0);
    const auto opened = [](const std::string& path) {
      return std::unique_ptr<FILE, int (*)(FILE*)>(std::fopen(path.c_str(), "w"), std::fclose);
    };
    openssl<int(FILE*, void*)>("PEM_write_X509")(opened(files.certificate).get(), made);
    openssl<int(FILE*, void*, void*, void*, int, void*, void*)>("PEM_write_PrivateKey")(
        opened(files.key).get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    openssl<void(void*)>("X509_free")(made);
    openssl<void(void*)>("EVP_PKEY_free")(key);
  }
  ~MadeCertificate() { std::filesystem::remove_all(folder_); }

  tls::Files files;

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "tls-XXXXXX").string();
};

/// A client at one end of a socket, which it does not own. Trusts everybody.
class TlsClient {
 public:
  TlsClient(int socket, long newest_version) {
    openssl<long(tls::SslContext*, int, long, void*)>("SSL_CTX_ctrl")(context_, set_most_version,
                                                                      newest_version, nullptr);
    openssl<int(tls::SslContext*, const unsigned char*, unsigned)>("SSL_CTX_set_alpn_protos")(
        context_, reinterpret_cast<const unsigned char*>("\x03two\x02h2"), 7);
    ssl_ = openssl<tls::Ssl*(tls::SslContext*)>("SSL_new")(context_);
    openssl<int(tls::Ssl*, int)>("SSL_set_fd")(ssl_, socket);
    openssl<void(tls::Ssl*)>("SSL_set_connect_state")(ssl_);
  }
  ~TlsClient() {
    openssl<void(tls::Ssl*)>("SSL_free")(ssl_);
    openssl<void(tls::SslContext*)>("SSL_CTX_free")(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// Goes on with what it is at; whether that is done.
  bool handshake() { return step("SSL_do_handshake"); }
  /// Wants to begin anew (TLS 1.2).
  bool renegotiate() { return step("SSL_renegotiate"); }
  /// Wants new keys of both sides (TLS 1.3), and does not look whether they come.
  bool change_keys() {
    constexpr int of_both = 1;
    return openssl<int(tls::Ssl*, int)>("SSL_key_update")(ssl_, of_both) == 1 && handshake();
  }
  int read(void* to, int bytes) {
    return openssl<int(tls::Ssl*, void*, int)>("SSL_read")(ssl_, to, bytes);
  }
  int write(const void* from, int bytes) {
    return openssl<int(tls::Ssl*, const void*, int)>("SSL_write")(ssl_, from, bytes);
  }
  std::string protocol() {
    const unsigned char* chosen = nullptr;
    unsigned bytes = 0;
    openssl<void(const tls::Ssl*, const unsigned char**, unsigned*)>("SSL_get0_alpn_selected")(
        ssl_, &chosen, &bytes);
    return {reinterpret_cast<const char*>(chosen), bytes};
  }

 private:
  static constexpr int set_most_version = 124;

  bool step(const char* function) {
    openssl<void()>("ERR_clear_error")();
    return openssl<int(tls::Ssl*)>(function)(ssl_) == 1;
  }

  tls::SslContext* context_ = openssl<tls::SslContext*(const void*)>("SSL_CTX_new")(
      openssl<const void*()>("TLS_client_method")());
  tls::Ssl* ssl_;
};

}  // namespace engine::test
