#include "ort/plugin.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace engine::ort {
namespace {

/// All that were opened, by name. Never destroyed: threads may still look at exit.
struct Plugins {
  std::mutex mutex;  // held while one is opened
  std::map<std::string, std::unique_ptr<Plugin>> all;
  bool closed = false;
};

Plugins& plugins() {
  static Plugins* const instance = new Plugins;
  return *instance;
}

std::vector<const OrtEpDevice*> list_devices() {
  const OrtEpDevice* const* first = nullptr;
  std::size_t count = 0;
  check(api().get_ep_devices(Runtime::get().env(), &first, &count));
  return {first, first + count};
}

std::string text(const char* given) { return given == nullptr ? "" : given; }

const char* kind_name(int type) {
  switch (type) {
    case kHardwareGpu:
      return "GPU";
    case kHardwareNpu:
      return "NPU";
    default:
      return "CPU";
  }
}

PluginProcessor describe(const OrtEpDevice* device) {
  const OrtHardwareDevice* hardware = api().ep_device_hardware(device);
  PluginProcessor found{.provider = text(api().ep_device_provider(device)),
                        .kind = kind_name(api().hardware_type(hardware)),
                        .vendor = text(api().hardware_vendor(hardware)),
                        .vendor_id = api().hardware_vendor_id(hardware),
                        .device_id = api().hardware_device_id(hardware),
                        .facts = {}};
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  std::size_t count = 0;
  api().key_value_pairs(api().ep_device_metadata(device), &keys, &values, &count);
  for (std::size_t i = 0; i < count; ++i) found.facts[text(keys[i])] = text(values[i]);
  return found;
}

}  // namespace

Plugin& Plugin::open(const std::string& name, const std::string& library_path) {
  const std::lock_guard lock(plugins().mutex);
  if (plugins().closed) throw std::runtime_error("the process ends: no provider can be opened");
  const auto known = plugins().all.find(name);
  if (known == plugins().all.end()) {
    auto plugin = std::make_unique<Plugin>(name, library_path);
    return *(plugins().all[name] = std::move(plugin));
  }
  if (known->second->library_path_ != library_path)
    throw std::runtime_error("the provider '" + name + "' is already loaded from " +
                             known->second->library_path_ + "; it cannot be loaded again from " +
                             library_path);
  return *known->second;
}

Plugin& Plugin::get(const std::string& name) {
  const std::lock_guard lock(plugins().mutex);
  const auto found = plugins().all.find(name);
  if (found == plugins().all.end())
    throw std::runtime_error("the provider '" + name + "' is not open; call open_plugin first");
  return *found->second;
}

void Plugin::close_all() noexcept {
  std::vector<Plugin*> all;
  {
    const std::lock_guard lock(plugins().mutex);
    plugins().closed = true;
    for (const auto& [name, plugin] : plugins().all) all.push_back(plugin.get());
  }
  for (Plugin* plugin : all) plugin->close();
}

Plugin::Plugin(std::string name, std::string library_path)
    : name_(std::move(name)), library_path_(std::move(library_path)) {
  thread_->call([this] { load(); });
}

void Plugin::load() {
  const std::vector<const OrtEpDevice*> before = list_devices();
  check(
      api().register_provider_library(Runtime::get().env(), name_.c_str(), library_path_.c_str()));
  for (const OrtEpDevice* device : list_devices()) {
    if (std::ranges::find(before, device) != before.end()) continue;
    devices_.push_back(device);
    processors_.push_back(describe(device));
  }
}

void Plugin::close() noexcept {
  SubmittingThread::Job job = [this] {
    if (kernels_ != 0) return;
    if (OrtStatus* status = api().unregister_provider_library(Runtime::get().env(), name_.c_str()))
      api().release_status(status);
  };
  static_cast<void>(thread_->post(job));  // refused: it was closed before
  thread_->stop();
}

void Plugin::prefer(OrtSessionOptions* options) const {
  if (devices_.empty())
    throw std::runtime_error("the provider '" + name_ + "' finds no processor to drive");
  const auto gpu = std::ranges::find(processors_, "GPU", &PluginProcessor::kind);
  const auto index = gpu == processors_.end() ? 0 : gpu - processors_.begin();
  const OrtEpDevice* const device = devices_[static_cast<std::size_t>(index)];
  check(api().append_provider(options, Runtime::get().env(), &device, 1, nullptr, nullptr, 0));
}

std::shared_ptr<const Kernel> Plugin::make(
    const std::function<std::shared_ptr<const Kernel>()>& maker) {
  std::shared_ptr<const Kernel> kernel;
  thread_->call([&] {
    kernel = maker();
    ++kernels_;
  });
  const Kernel* const handle = kernel.get();
  return {handle, [this, held = std::move(kernel)](const Kernel*) mutable {
            SubmittingThread::Job job = [this, last = std::move(held)]() mutable {
              last.reset();
              --kernels_;
            };
            // At exit the provider's code may be gone: a session that is left then is not ended.
            if (!thread_->post(job)) static_cast<void>(new SubmittingThread::Job(std::move(job)));
          }};
}

}  // namespace engine::ort
