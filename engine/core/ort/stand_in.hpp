// A process that has a model open answers its queries until this one has opened it, too.
//
// The first run of a file that nobody has seen is in a child process. Both opening it at the same
// time takes longer than one after the other answers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "devices/kernel.hpp"
#include "ort/session.hpp"

namespace engine::ort {

class Wire;

/// What a model takes and gives, all of it.
struct Declared {
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  bool has_defaults = false;  ///< of inputs that a query may leave out
};

[[nodiscard]] Declared declared_by(const InferenceSession& session);

/// In the child: says what the model takes and gives, then answers queries until the other end is
/// closed. Takes ownership of the socket.
void stand_in(const InferenceSession& session, int descriptor);

/// In the parent: a kernel of all of a model's inputs and outputs, in its order, whose first
/// queries the child answers. It opens the model by itself when one has been answered, or nobody
/// asks for a while, and the child's end of the socket is closed then. At once where a query comes
/// while the child answers another, or the model takes or gives something else than tensors of
/// numbers: then such a query waits, as its caller would for a load.
///
/// A query that the child does not survive fails, as does one that is cancelled meanwhile; those
/// that follow are this process's.
class StandIn {
 public:
  /// Opens the model here; throws what execute() then throws, and is called again for the next.
  using Open = std::function<std::shared_ptr<const Kernel>()>;

  /// Takes ownership of the socket; blocks until the child has said what there is. Throws
  /// std::runtime_error if it has ended.
  explicit StandIn(int descriptor);

  [[nodiscard]] const Declared& declared() const noexcept { return declared_; }
  /// Once.
  [[nodiscard]] std::shared_ptr<const Kernel> kernel(Open open);

 private:
  std::shared_ptr<Wire> wire_;
  Declared declared_;
};

}  // namespace engine::ort
