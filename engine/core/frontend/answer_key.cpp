#include "frontend/answer_key.hpp"

#include <algorithm>
#include <random>

#include "files/checksum.hpp"

namespace engine::frontend {

namespace {

void put_count(std::string& to, std::uint64_t count) {
  to.append(reinterpret_cast<const char*>(&count), sizeof count);
}

/// Behind its length: so no two heads that say different things have the same bytes.
void put(std::string& to, std::string_view text) {
  put_count(to, text.size());
  to += text;
}

std::string head_of(const std::vector<TensorView>& inputs,
                    const std::vector<std::string_view>& outputs) {
  std::string head;
  put_count(head, outputs.size());
  for (const std::string_view output : outputs) put(head, output);
  for (const auto& [name, datatype, shape, content] : inputs) {
    put(head, name);
    put(head, datatype);
    put_count(head, shape.size());
    for (const std::int64_t size : shape) put_count(head, static_cast<std::uint64_t>(size));
    put_count(head, content.size());
  }
  return head;
}

/// Of this process alone: nobody can choose queries that are looked for in the same place.
std::uint64_t secret() {
  static const std::uint64_t number = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }();
  return number;
}

std::uint64_t hash_of(const AnswerKey& key) {
  Checksum sum;
  const std::uint64_t first = secret();
  sum.add(&first, sizeof first);
  sum.add(key.head.data(), key.head.size());
  for (const Bytes content : key.contents) sum.add(content.data(), content.size());
  return sum.value();
}

}  // namespace

std::size_t AnswerKey::bytes() const noexcept {
  std::size_t bytes = head.size();
  for (const Bytes content : contents) bytes += content.size();
  return bytes;
}

std::string AnswerKey::text() const {
  std::string text;
  text.reserve(bytes());
  text += head;
  for (const Bytes content : contents) text += text_of(content);
  return text;
}

bool AnswerKey::is(std::string_view text) const noexcept {
  if (text.size() != bytes() || !text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  for (const Bytes content : contents) {
    if (!text.starts_with(text_of(content))) return false;
    text.remove_prefix(content.size());
  }
  return true;
}

AnswerKey key_of(std::uint64_t load, std::vector<TensorView> inputs,
                 std::vector<std::string_view> outputs) {
  std::ranges::sort(inputs, {}, &TensorView::name);
  std::ranges::sort(outputs);
  AnswerKey key{.load = load, .head = head_of(inputs, outputs)};
  for (const TensorView& input : inputs) key.contents.push_back(input.content);
  key.hash = hash_of(key);
  return key;
}

}  // namespace engine::frontend
