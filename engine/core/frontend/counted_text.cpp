#include "frontend/counted_text.hpp"

#include <memory>
#include <utility>

#include "memory/account.hpp"

namespace engine::frontend {

namespace {

struct CountedText {
  MemoryShare share;
  std::string text;
};

}  // namespace

bool add_counted(std::vector<OutPart>& parts, std::string text) {
  if (text.size() <= uncounted_bytes) {
    if (parts.empty()) parts.emplace_back();
    parts.back().own += text;
    return true;
  }
  auto counted = std::make_shared<CountedText>();
  if (!counted->share.try_take(text.size())) return false;
  counted->text = std::move(text);
  OutPart& part = parts.emplace_back();
  part.foreign = {reinterpret_cast<const std::byte*>(counted->text.data()), counted->text.size()};
  part.owner = std::move(counted);
  return true;
}

}  // namespace engine::frontend
