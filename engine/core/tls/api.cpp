#include "tls/api.hpp"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <stdexcept>

namespace engine::tls {

namespace {

constexpr const char* ssl_name = "libssl.so.3";
constexpr const char* crypto_name = "libcrypto.so.3";

class Library {
 public:
  explicit Library(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      throw std::runtime_error("TLS needs OpenSSL 3: " + std::string(dlerror()));
  }
  template <typename Function>
  void need(Function& function, const char* symbol) const {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (function == nullptr)
      throw std::runtime_error(std::string(name_) + " lacks the function " + symbol);
  }

 private:
  const char* name_;
  void* handle_;
};

}  // namespace

const Api& Api::open() {
  static std::mutex mutex;
  static std::unique_ptr<const Api> opened;  // guarded by mutex
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened.reset(new Api);
  return *opened;
}

Api::Api() : name(ssl_name) {
  const Library crypto(crypto_name), ssl(ssl_name);
  ssl.need(server_method, "TLS_server_method");
  ssl.need(client_method, "TLS_client_method");
  ssl.need(context_new, "SSL_CTX_new");
  ssl.need(context_free, "SSL_CTX_free");
  ssl.need(context_ctrl, "SSL_CTX_ctrl");
  ssl.need(context_set_options, "SSL_CTX_set_options");
  ssl.need(context_set_suites, "SSL_CTX_set_ciphersuites");
  ssl.need(context_set_password, "SSL_CTX_set_default_passwd_cb");
  ssl.need(context_certificate, "SSL_CTX_use_certificate_chain_file");
  ssl.need(context_key, "SSL_CTX_use_PrivateKey_file");
  ssl.need(context_check_key, "SSL_CTX_check_private_key");
  ssl.need(context_verify_by, "SSL_CTX_load_verify_file");
  ssl.need(context_set_verify, "SSL_CTX_set_verify");
  ssl.need(names_of, "SSL_load_client_CA_file");
  ssl.need(context_set_names, "SSL_CTX_set_client_CA_list");
  ssl.need(context_set_alpn, "SSL_CTX_set_alpn_select_cb");
  ssl.need(ssl_new, "SSL_new");
  ssl.need(ssl_free, "SSL_free");
  ssl.need(ssl_set_accept_state, "SSL_set_accept_state");
  ssl.need(ssl_set_connect_state, "SSL_set_connect_state");
  ssl.need(ssl_set_host, "SSL_set1_host");
  ssl.need(ssl_offer, "SSL_set_alpn_protos");
  ssl.need(ssl_ctrl, "SSL_ctrl");
  ssl.need(ssl_handshake, "SSL_do_handshake");
  ssl.need(ssl_verified, "SSL_get_verify_result");
  crypto.need(verify_reason, "X509_verify_cert_error_string");
  ssl.need(ssl_set_bio, "SSL_set_bio");
  ssl.need(ssl_set_data, "SSL_set_ex_data");
  ssl.need(ssl_data, "SSL_get_ex_data");
  ssl.need(ssl_read, "SSL_read");
  ssl.need(ssl_write, "SSL_write");
  ssl.need(ssl_shutdown, "SSL_shutdown");
  ssl.need(ssl_error, "SSL_get_error");
  ssl.need(ssl_is_finished, "SSL_is_init_finished");
  ssl.need(peer_certificate, "SSL_get1_peer_certificate");
  crypto.need(certificate_free, "X509_free");
  crypto.need(subject, "X509_get_subject_name");
  crypto.need(subject_text, "X509_NAME_get_text_by_NID");
  crypto.need(extension, "X509_get_ext_d2i");
  crypto.need(stack_size, "OPENSSL_sk_num");
  crypto.need(stack_item, "OPENSSL_sk_value");
  crypto.need(name_value, "GENERAL_NAME_get0_value");
  crypto.need(names_free, "GENERAL_NAMES_free");
  crypto.need(text_data, "ASN1_STRING_get0_data");
  crypto.need(text_bytes, "ASN1_STRING_length");
  crypto.need(sha256, "SHA256");
  crypto.need(compare, "CRYPTO_memcmp");
  crypto.need(method_new, "BIO_meth_new");
  crypto.need(method_set_read, "BIO_meth_set_read");
  crypto.need(method_set_write, "BIO_meth_set_write");
  crypto.need(method_set_ctrl, "BIO_meth_set_ctrl");
  crypto.need(bio_new, "BIO_new");
  crypto.need(bio_set_data, "BIO_set_data");
  crypto.need(bio_data, "BIO_get_data");
  crypto.need(bio_set_init, "BIO_set_init");
  crypto.need(bio_set_flags, "BIO_set_flags");
  crypto.need(bio_clear_flags, "BIO_clear_flags");
  crypto.need(last_error, "ERR_peek_last_error");
  crypto.need(reason, "ERR_reason_error_string");
  crypto.need(clear_errors, "ERR_clear_error");
}

}  // namespace engine::tls
