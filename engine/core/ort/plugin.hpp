// Plugin execution providers: libraries that bring ONNX Runtime kernels for other processors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/kernel.hpp"
#include "devices/submitting_thread.hpp"
#include "ort/runtime.hpp"

namespace engine::ort {

/// What a provider says of one processor that it drives.
struct PluginProcessor {
  std::string provider;  ///< for example "WebGpuExecutionProvider"
  std::string kind;      ///< "CPU", "GPU" or "NPU"
  std::string vendor;
  std::uint32_t vendor_id = 0, device_id = 0;  ///< PCI's
  std::map<std::string, std::string> facts;    ///< the provider's own, its version among them
};

/// A library of a provider, registered with the process's env until the process ends, and the one
/// thread that uses it: two threads that drive sessions of one provider are not safe, not even if
/// the sessions are two. Thread-safe. Never destroyed.
class Plugin {
 public:
  /// Registers a library under a name of ours, once; takes as long as the library takes to load.
  /// Throws std::runtime_error with ONNX Runtime's reason if it does not register, and if the name
  /// stands for another library.
  static Plugin& open(const std::string& name, const std::string& library_path);
  /// Throws std::runtime_error when it was not opened.
  [[nodiscard]] static Plugin& get(const std::string& name);
  /// Joins all threads, and unregisters the libraries that no session uses any more: a session
  /// that somebody holds would outlive its code. No provider can be opened or used afterwards.
  static void close_all() noexcept;

  Plugin(std::string name, std::string library_path);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// What it drives here; maybe nothing.
  [[nodiscard]] const std::vector<PluginProcessor>& processors() const noexcept {
    return processors_;
  }
  [[nodiscard]] const std::shared_ptr<SubmittingThread>& thread() const noexcept { return thread_; }

  /// Makes sessions with these options prefer the provider, on the first GPU that it lists, else
  /// on the first processor. Throws std::runtime_error when there is none. On its thread.
  void prefer(OrtSessionOptions* options) const;
  /// A kernel that is made and destroyed on the provider's thread; devices execute it there.
  [[nodiscard]] std::shared_ptr<const Kernel> make(
      const std::function<std::shared_ptr<const Kernel>()>& maker);

 private:
  void load();
  void close() noexcept;

  const std::string name_;
  const std::string library_path_;
  const std::shared_ptr<SubmittingThread> thread_ = std::make_shared<SubmittingThread>();
  std::vector<const OrtEpDevice*> devices_;  ///< ONNX Runtime's, valid while registered
  std::vector<PluginProcessor> processors_;
  int kernels_ = 0;  ///< made and not destroyed; for the thread alone
};

}  // namespace engine::ort
