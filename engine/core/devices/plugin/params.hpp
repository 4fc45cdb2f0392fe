// What only a device behind a plugin provider is opened with.
#pragma once

#include <memory>
#include <string>

namespace engine {

class SubmittingThread;

struct PluginParams {
  std::string provider = {};                           ///< the name that it was opened under
  std::shared_ptr<SubmittingThread> thread = nullptr;  ///< the one that may use it
};

}  // namespace engine
