#include "compared.hpp"

#include <cstring>
#include <utility>

namespace loadgen {

void Compared::add(const std::uint8_t* data, std::size_t bytes) {
  if (first_ == nullptr || differs_) return;
  if (records_) {
    kept_.append(reinterpret_cast<const char*>(data), bytes);
    return;
  }
  const std::string& first = **first_;
  differs_ = bytes > first.size() - at_ || std::memcmp(first.data() + at_, data, bytes) != 0;
  at_ += bytes;
}

bool Compared::end() {
  if (first_ == nullptr) return true;
  if (!records_) return !judges_ || (!differs_ && at_ == (*first_)->size());
  // Another one that was under way may have ended first.
  if (first_->has_value()) return !judges_ || **first_ == kept_;
  *first_ = std::move(kept_);
  return true;
}

}  // namespace loadgen
