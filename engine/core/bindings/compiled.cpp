// Python's view of compiled segments in plans.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/plan.hpp"
#include "bindings/value.hpp"
#include "compiled/compiled_kernel.hpp"
#include "ort/kernel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

/// Functions read and write memory of the host, in the caller's thread.
void check_device(Machine& machine, int device, const std::string& name) {
  if (device < 0 || device >= machine.device_count()) return;  // the builder refuses it
  const Device& found = machine.device(device);
  if (found.has_own_memory() || found.is_timed() || !found.provider().empty())
    throw std::invalid_argument("segment '" + name + "': compiled segments run on CPUs, '" +
                                found.name() + "' is none");
}

DeclaredTensor declared(nb::handle elem_type, nb::handle shape) {
  DeclaredTensor made{.elem_type = nb::cast<int>(elem_type)};
  if (!shape.is_none()) made.shape = nb::cast<std::vector<std::int64_t>>(shape);
  return made;
}

std::shared_ptr<const Kernel> made(CompiledParams params, const std::string& name) {
  try {
    return make_compiled_kernel(std::move(params));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("segment '" + name + "': " + error.what());
  }
}

int add_compiled(PyPlanBuilder& self, std::string name, int device, std::string library,
                 std::string symbol, std::vector<int> inputs, const nb::sequence& outputs,
                 const nb::sequence& constants, int width, std::int64_t rank,
                 std::vector<int> awaits) {
  check_device(*self.owner->get(), device, name);
  CompiledParams params{.library_path = std::move(library),
                        .symbol = std::move(symbol),
                        .inputs = inputs.size(),
                        .lanes = width};
  NodeSpec spec{.name = std::move(name),
                .device = device,
                .inputs = std::move(inputs),
                .awaits = std::move(awaits),
                .width = width,
                .rank = rank,
                .kind = NodeKind::segment};
  for (const nb::handle row : outputs) {
    const nb::tuple output = nb::cast<nb::tuple>(row);
    if (output.size() != 3) throw std::invalid_argument("expected (value, elem_type, shape)");
    spec.outputs.push_back(nb::cast<int>(output[0]));
    params.outputs.push_back(declared(output[1], output[2]));
  }
  for (const nb::handle constant : constants)
    params.constants.push_back(nb::cast<const PyValue&>(constant).value);
  const ReleasedGil released;
  spec.kernel = made(std::move(params), spec.name);
  self.builder.set_token_maker(make_ort_cancel_token);
  return self.builder.add_node(std::move(spec));
}

}  // namespace

void bind_compiled(nb::class_<PyPlanBuilder>& builder) {
  builder.def("add_compiled", &add_compiled, "name"_a, "device"_a, "library"_a, "symbol"_a,
              "inputs"_a, "outputs"_a, "constants"_a = nb::make_tuple(), "width"_a = 1,
              "rank"_a = 0, "awaits"_a = std::vector<int>{},
              nb::sig("def add_compiled(self, name: str, device: int, library: str, symbol: str, "
                      "inputs: Sequence[int], "
                      "outputs: Sequence[tuple[int, int, Sequence[int] | None]], "
                      "constants: Sequence[Value] = (), width: int = 1, rank: int = 0, "
                      "awaits: Sequence[int] = ()) -> int"),
              R"(Add a segment that a function of a shared library computes; returns its node.

The library exports `symbol` as engine/include/surplus_segment.h says. It reads the values
`inputs`, then `constants`, and may keep `width` lanes busy. An output is a value of the
plan, its element type and its shape: -1 where an extent is open, None where nothing is
known.

Raises
------
RuntimeError
    Naming library, symbol and segment: what is missing, or of another version.
ValueError
    A device that is no CPU, or what every node is refused for.)");
}

}  // namespace engine
