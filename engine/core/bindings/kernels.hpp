// What Python chooses for a segment: a library of kernels, and what it is compiled for.
#pragma once

#include <memory>
#include <string>

#include "kernels/library.hpp"

namespace engine {

/// Immutable. Of `params` the names, the width and `otherwise` are the segment's.
struct PyKernelChoice {
  std::string library;
  kernels::KernelParams params;

  /// Takes as long as compiling; throws std::runtime_error.
  [[nodiscard]] std::shared_ptr<const kernels::LibraryKernel> make(kernels::KernelParams of) const;
};

}  // namespace engine
