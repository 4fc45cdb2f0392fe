#include "frontend/tls_transport.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include "tls/certificate_names.hpp"

namespace engine::frontend {

namespace {

constexpr std::size_t record_bytes = 16 * 1024;
/// Of one record, and what belongs to it.
constexpr std::size_t largest_record = record_bytes + 2 * 1024;
/// Encrypted before it is sent: fewer system calls.
constexpr std::size_t most_encrypted = 128 * 1024;
/// That waits for a client that makes OpenSSL answer.
constexpr std::size_t most_waiting = 1U << 20;
constexpr std::size_t largest_hello = 16 * 1024;
constexpr std::size_t kept_capacity = 4096;
constexpr std::uint8_t handshake_record = 22;

}  // namespace

bool HelloCheck::take(Bytes came) noexcept {
  if (taken_ == head_.size()) return true;
  const std::size_t count = std::min(head_.size() - taken_, came.size());
  std::memcpy(head_.data() + taken_, came.data(), count);
  taken_ += count;
  if (taken_ < head_.size() || head_[0] != handshake_record) return true;
  // A record: kind, version, length; in it a message: kind, length.
  const std::size_t record = std::size_t{head_[3]} << 8 | head_[4];
  const std::size_t hello = std::size_t{head_[6]} << 16 | std::size_t{head_[7]} << 8 | head_[8];
  return record >= 4 && hello <= largest_hello;
}

/// What OpenSSL calls to read and to write.
struct TlsTransport::Callbacks {
  static TlsTransport& of(tls::Bio* bio, const tls::Api& api) {
    return *static_cast<TlsTransport*>(api.bio_data(bio));
  }
  static int read(tls::Bio* bio, char* to, int bytes) {
    const tls::Api& api = tls::Api::open();
    Bytes& came = of(bio, api).came_;
    api.bio_clear_flags(bio, tls::bio_flag::read | tls::bio_flag::should_retry);
    if (came.empty()) {
      api.bio_set_flags(bio, tls::bio_flag::read | tls::bio_flag::should_retry);
      return -1;
    }
    const std::size_t count = std::min(came.size(), static_cast<std::size_t>(bytes));
    std::memcpy(to, came.data(), count);
    came = came.subspan(count);
    return static_cast<int>(count);
  }
  static int write(tls::Bio* bio, const char* from, int bytes) {
    try {
      of(bio, tls::Api::open()).encrypted_.append(from, static_cast<std::size_t>(bytes));
      return bytes;
    } catch (const std::bad_alloc&) {
      return -1;  // the connection ends
    }
  }
  static long control(tls::Bio*, int command, long, void*) {
    constexpr int flush = 11;
    return command == flush ? 1 : 0;
  }
  static const tls::BioMethod* method(const tls::Api& api) {
    constexpr int source_and_sink = 0x0400;
    static const tls::BioMethod* const made = [&api] {
      tls::BioMethod* const method = api.method_new(source_and_sink, "front end");
      if (method == nullptr) throw std::bad_alloc();
      api.method_set_read(method, read);
      api.method_set_write(method, write);
      api.method_set_ctrl(method, control);
      return method;
    }();
    return made;
  }
};

TlsTransport::TlsTransport(std::shared_ptr<const void> context, const tls::Api& api, tls::Ssl* ssl,
                           int socket)
    : Transport(socket), context_(std::move(context)), api_(api), ssl_(ssl) {
  tls::Bio* const bio = ssl_ == nullptr ? nullptr : api_.bio_new(Callbacks::method(api_));
  if (bio == nullptr) {
    api_.ssl_free(ssl_);
    throw std::bad_alloc();
  }
  api_.bio_set_data(bio, this);
  api_.bio_set_init(bio, 1);
  api_.ssl_set_bio(ssl_, bio, bio);
}

TlsTransport::TlsTransport(std::shared_ptr<const tls::Context> context, int socket,
                           std::string_view protocols)
    : TlsTransport(context, context->api(), context->api().ssl_new(context->get()), socket) {
  protocols_ = protocols;
  hears_hello_ = true;
  api_.ssl_set_data(ssl_, tls::protocols_place, &protocols_);
  api_.ssl_set_accept_state(ssl_);
}

TlsTransport::TlsTransport(std::shared_ptr<const tls::ClientContext> context, int socket,
                           std::string_view protocols, const std::string& host)
    : TlsTransport(context, context->api(), context->connection(host, protocols), socket) {
  api_.clear_errors();
  api_.ssl_handshake(ssl_);  // what it says first is to be sent
}

TlsTransport::~TlsTransport() {
  if (is_agreed() && !has_failed_ && encrypted_.empty()) {
    api_.clear_errors();
    api_.ssl_shutdown(ssl_);
    static_cast<void>(send_encrypted());
  }
  api_.ssl_free(ssl_);
}

std::optional<std::size_t> TlsTransport::receive(std::span<std::byte> buffer) {
  if (is_over_ || encrypted_.size() > most_waiting) return std::nullopt;
  // Decrypted, it is no longer, but for a record of which a part had come before: all of it fits.
  const std::size_t most = (buffer.size() - largest_record) / 2;
  const std::span<std::byte> taken = buffer.last(most);
  const std::optional<std::size_t> count = take(taken);
  if (!count || *count == 0) return count;
  const Bytes came = taken.first(*count);
  if (hears_hello_ && !hello_.take(came)) return std::nullopt;
  const std::size_t decrypted = decrypt(came, buffer.first(buffer.size() - most));
  // Of the handshake, or why it failed.
  if (!send_encrypted()) is_over_ = true;
  if (is_over_ && decrypted == 0) return std::nullopt;
  return decrypted;
}

std::size_t TlsTransport::decrypt(Bytes came, std::span<std::byte> to) {
  came_ = came;
  std::size_t total = 0;
  api_.clear_errors();
  for (;;) {
    const auto room = static_cast<int>(std::min<std::size_t>(to.size() - total, INT_MAX));
    const int count = api_.ssl_read(ssl_, to.data() + total, room);
    if (count > 0) {
      total += static_cast<std::size_t>(count);
      continue;
    }
    if (api_.ssl_error(ssl_, count) != tls::error::want_read) {
      is_over_ = true;
      has_failed_ = true;
      note_failure();
    }
    break;
  }
  came_ = {};
  return total;
}

void TlsTransport::note_failure() {
  const char* const reason = api_.reason(api_.last_error());
  if (reason == nullptr && is_agreed()) return;  // the other side has ended it
  why_ = std::string("TLS: ") + (reason == nullptr ? "the handshake was broken off" : reason);
  if (const long verified = api_.ssl_verified(ssl_); verified != 0)
    why_ += std::string(", ") + api_.verify_reason(verified);
}

const std::vector<std::string>* TlsTransport::certificate_names() {
  if (!names_) names_ = tls::certificate_names(api_, ssl_);
  return names_->empty() ? nullptr : &*names_;
}

bool TlsTransport::send(OutQueue& out) {
  if (!send_encrypted()) return false;
  while (!out.empty() && encrypted_.empty() && is_agreed() && !has_failed_)
    if (!encrypt(out) || !send_encrypted()) return false;
  return true;
}

bool TlsTransport::encrypt(OutQueue& out) {
  std::array<std::byte, record_bytes> gathered;
  encrypted_.reserve(std::min(out.bytes() + 64, most_encrypted + largest_record));
  while (!out.empty() && encrypted_.size() < most_encrypted) {
    Bytes piece = out.front();
    if (piece.size() > most_encrypted)
      piece = piece.first(most_encrypted);
    else if (piece.size() < record_bytes)  // small ones in one record
      piece = Bytes(gathered).first(out.copy_to(gathered));
    api_.clear_errors();
    const int count = api_.ssl_write(ssl_, piece.data(), static_cast<int>(piece.size()));
    if (count <= 0) {
      has_failed_ = true;
      return false;
    }
    out.drop(static_cast<std::size_t>(count));
  }
  return true;
}

bool TlsTransport::send_encrypted() {
  while (sent_ < encrypted_.size()) {
    const ssize_t count = ::send(socket(), encrypted_.data() + sent_, encrypted_.size() - sent_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    sent_ += static_cast<std::size_t>(count);
  }
  sent_ = 0;
  if (encrypted_.capacity() > kept_capacity)
    encrypted_ = std::string();
  else
    encrypted_.clear();
  return true;
}

}  // namespace engine::frontend
