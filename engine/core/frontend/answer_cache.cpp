#include "frontend/answer_cache.hpp"

#include <iterator>
#include <utility>

namespace engine::frontend {

namespace {

KeptAnswerPtr copied(const std::vector<TensorView>& answer) {
  auto kept = std::make_shared<KeptAnswer>();
  kept->reserve(answer.size());
  for (const auto& [name, datatype, shape, content] : answer)
    kept->push_back(
        {std::string(name), std::string(datatype), shape, {content.begin(), content.end()}});
  return kept;
}

std::size_t size_of(const AnswerKey& key, const std::vector<TensorView>& answer) noexcept {
  std::size_t bytes = AnswerCache::entry_bytes + key.bytes();
  for (const TensorView& tensor : answer) bytes += tensor.content.size();
  return bytes;
}

}  // namespace

void AnswerCache::begin(std::uint64_t load) {
  const std::lock_guard lock(mutex_);
  loads_.try_emplace(load);
}

void AnswerCache::end(std::uint64_t load) noexcept {
  Entries gone;
  decltype(loads_)::node_type index;
  const std::lock_guard lock(mutex_);
  index = loads_.extract(load);
  if (index.empty()) return;
  for (const auto& [hash, entry] : index.mapped()) {
    bytes_ -= entry->bytes;
    gone.splice(gone.end(), entries_, entry);
  }
}

KeptAnswerPtr AnswerCache::find(const AnswerKey& key) {
  const std::lock_guard lock(mutex_);
  const auto load = loads_.find(key.load);
  if (load == loads_.end()) return nullptr;
  const auto found = load->second.find(key.hash);
  if (found == load->second.end() || !key.is(found->second->key)) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void AnswerCache::keep(const AnswerKey& key, const std::vector<TensorView>& answer) {
  const std::size_t bytes = size_of(key, answer);
  if (bytes > most_bytes_) return;
  Entries made, gone;
  made.push_back({key.load, key.hash, bytes, key.text(), copied(answer)});
  const std::lock_guard lock(mutex_);
  const auto load = loads_.find(key.load);
  if (load == loads_.end()) return;
  Index& index = load->second;
  if (const auto there = index.find(key.hash); there != index.end()) {
    if (key.is(there->second->key)) return;
    take_out(there->second, gone);
  }
  index.emplace(key.hash, made.begin());
  while (bytes_ + bytes > most_bytes_) take_out(std::prev(entries_.end()), gone);
  entries_.splice(entries_.begin(), made);
  bytes_ += bytes;
}

/// Into a list that is freed once nobody waits.
void AnswerCache::take_out(Entries::iterator entry, Entries& gone) noexcept {
  loads_.find(entry->load)->second.erase(entry->hash);
  bytes_ -= entry->bytes;
  gone.splice(gone.end(), entries_, entry);
}

std::size_t AnswerCache::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::size_t AnswerCache::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace engine::frontend
