#include "shared_memory/regions.hpp"

#include <utility>

#include "shared_memory/cuda_memory.hpp"
#include "shared_memory/region_texts.hpp"
#include "shared_memory/system_memory.hpp"

namespace engine {

namespace {

bool is_of_gpu(const Region& region) noexcept { return region.gpu != Region::no_gpu; }

/// Throws unless these bytes lie within the region.
void check_part(const Region& region, std::uint64_t offset, std::uint64_t bytes) {
  const auto refuse = [&](const std::string& what) {
    throw RegionError(RegionFault::invalid, "Invalid " + what + " for shared memory region: " +
                                                quoted_region(region.name) + ": " +
                                                region_part(bytes, offset, region.bytes));
  };
  if (offset >= region.bytes) refuse("offset");
  if (bytes > region.bytes - offset) refuse("offset + byte size");
}

}  // namespace

void Regions::add(const Region& region) {
  check_name(region.name);
  enter({region, std::make_unique<SystemMemory>(region)});
}

void Regions::add_of_gpu(const Region& region, const CudaHandle& handle) {
  check_name(region.name);
  enter({region, std::make_unique<CudaMemory>(region, handle)});
}

void Regions::check_name(const std::string& name) const {
  if (name.empty() || name.size() > most_region_name_bytes)
    throw RegionError(RegionFault::invalid, "a shared memory region's name has 1 to " +
                                                std::to_string(most_region_name_bytes) +
                                                " bytes, not " + std::to_string(name.size()));
  const std::lock_guard lock(mutex_);
  check_room(name);  // before the memory is opened
}

void Regions::enter(Open open) {
  const std::string name = open.region.name;
  auto opened = std::make_shared<const Open>(std::move(open));
  const std::lock_guard lock(mutex_);
  check_room(name);
  open_.emplace(name, std::move(opened));
}

/// With the lock.
void Regions::check_room(const std::string& name) const {
  if (open_.contains(name))
    throw RegionError(RegionFault::exists,
                      "shared memory region " + quoted_region(name) + " already in manager");
  if (open_.size() >= most_)
    throw RegionError(RegionFault::too_many,
                      "failed to register shared memory region " + quoted_region(name) +
                          ": there are " + std::to_string(most_) + " already, the most at a time");
}

void Regions::remove(std::string_view name, bool of_gpu) {
  OpenPtr last;  // closed without the lock
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(name);
  if (found == open_.end() || is_of_gpu(found->second->region) != of_gpu) return;
  last = std::move(found->second);
  open_.erase(found);
}

void Regions::clear(bool of_gpu) {
  std::vector<OpenPtr> all;  // closed without the lock
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](auto& entry) {
    const bool goes = is_of_gpu(entry.second->region) == of_gpu;
    if (goes) all.push_back(std::move(entry.second));
    return goes;
  });
}

std::vector<Region> Regions::list(bool of_gpu) const {
  const std::lock_guard lock(mutex_);
  std::vector<Region> regions;
  for (const auto& [name, open] : open_)
    if (is_of_gpu(open->region) == of_gpu) regions.push_back(open->region);
  return regions;
}

Regions::OpenPtr Regions::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(name);
  if (found == open_.end())
    throw RegionError(RegionFault::unknown,
                      "Unable to find shared memory region: " + quoted_region(name));
  return found->second;
}

Region Regions::find(std::string_view name) const { return get(name)->region; }

void Regions::check(std::string_view name, std::uint64_t offset, std::uint64_t bytes) const {
  check_part(get(name)->region, offset, bytes);
}

void Regions::read(std::string_view name, std::uint64_t offset, void* into,
                   std::uint64_t bytes) const {
  const OpenPtr open = get(name);
  check_part(open->region, offset, bytes);
  open->memory->read(offset, static_cast<char*>(into), bytes);
}

void Regions::write(std::string_view name, std::uint64_t offset, const void* from,
                    std::uint64_t bytes) const {
  const OpenPtr open = get(name);
  check_part(open->region, offset, bytes);
  open->memory->write(offset, static_cast<const char*>(from), bytes);
}

}  // namespace engine
