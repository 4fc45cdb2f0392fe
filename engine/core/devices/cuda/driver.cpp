#include "devices/cuda/driver.hpp"

#include <algorithm>
#include <numeric>

namespace engine::cuda {

namespace {

constexpr int as_of_cuda = 12050;       ///< the first to have all of these functions
constexpr int sm_resource = 1;          ///< CU_DEV_RESOURCE_TYPE_SM
constexpr unsigned default_stream = 1;  ///< CU_GREEN_CTX_DEFAULT_STREAM, which is required

using GetProcAddress = int (*)(const char*, void**, int, unsigned long long, int*);

}  // namespace

DriverLibrary::DriverLibrary(const std::string& path)
    : Library("CUDA's driver",
              path.empty() ? std::vector<std::string>{"libcuda.so.1"} : std::vector{path}) {}

void* DriverLibrary::symbol(const char* name) const {
  const auto find = reinterpret_cast<GetProcAddress>(Library::symbol("cuGetProcAddress_v2"));
  void* found = nullptr;
  int status = 0;
  if (find(name, &found, as_of_cuda, 0, &status) == 0 && found != nullptr) return found;
  throw std::runtime_error("CUDA's driver " + path() + " lacks the function " + name +
                           ", it is too old");
}

Error DriverLibrary::error(int code, const char* call) const {
  return {code, std::string(call) + " failed with CUDA driver error " + std::to_string(code)};
}

Partitions::Partitions(std::shared_ptr<const Driver> driver, int ordinal,
                       const std::vector<unsigned>& sms)
    : driver_(std::move(driver)), rows_(sms.size()) {
  driver_->init(0);
  int device = 0;
  driver_->device_get(&device, ordinal);
  SmResource left;
  driver_->device_resource(device, &left, sm_resource);
  // The largest first, out of what the last one left: only so are they disjoint.
  std::vector<std::size_t> order(sms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return sms[i]; });
  try {
    for (const std::size_t i : order) make(device, left, sms[i], rows_[i]);
  } catch (...) {
    for (const Row& row : rows_)
      if (row.context != nullptr) driver_->context_destroy.code(row.context);
    throw;
  }
}

void Partitions::make(int device, SmResource& left, unsigned sms, Row& row) const {
  const auto refuse = [&] {
    throw std::runtime_error("a partition of " + std::to_string(sms) + " SMs cannot be had of " +
                             std::to_string(left.count) + " that are left");
  };
  if (left.count < sms) refuse();
  SmResource part, rest;
  unsigned groups = 1;
  driver_->split(&part, &groups, &left, &rest, 0, sms);
  if (groups != 1 || part.count < sms) refuse();
  DescriptionHandle description = nullptr;
  driver_->describe(&description, &part, 1);
  driver_->context_create(&row.context, description, device, default_stream);
  row.sms = part.count;
  left = rest;
}

Partitions::~Partitions() {
  for (const Row& row : rows_) driver_->context_destroy.code(row.context);
}

StreamHandle Partitions::make_stream(std::size_t partition) const {
  StreamHandle stream = nullptr;
  driver_->stream_create(&stream, rows_[partition].context, stream_non_blocking, 0);
  return stream;
}

}  // namespace engine::cuda
