// Python's view of libraries of kernels: opening them, choosing them for segments, compiling.
#include "bindings/kernels.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/plan.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"
#include "kernels/numbers.hpp"
#include "ort/value.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<std::pair<int, std::vector<std::int64_t>>>;

/// A compiled segment outside any plan; without ONNX Runtime's kernel behind it.
struct PyCompiledModel {
  std::shared_ptr<const kernels::LibraryKernel> kernel;
  std::size_t outputs;

  [[nodiscard]] std::vector<PyValue> run(const nb::sequence& inputs) const {
    release_deferred_buffers();
    std::vector<ValuePtr> given, made(outputs);
    for (const nb::handle value : inputs) given.push_back(nb::cast<const PyValue&>(value).value);
    {
      const ReleasedGil released;
      kernel->execute(given, made, nullptr);
    }
    std::vector<PyValue> values;
    for (ValuePtr& value : made) values.push_back({std::move(value)});
    return values;
  }
};

[[noreturn]] std::shared_ptr<const Kernel> refuse() {
  throw std::runtime_error("the library does not take these inputs");
}

PyCompiledModel compile(const PyKernelChoice& self, std::string model, Names inputs, Names outputs,
                        int width, bool times_operators, bool takes_any_number) {
  const ReleasedGil released;
  const std::size_t count = outputs.size();
  auto kernel = self.make({.model_path = std::move(model),
                           .compiled_path = {},
                           .input_names = std::move(inputs),
                           .output_names = std::move(outputs),
                           .inputs = {},
                           .output_types = {},
                           .width = width,
                           .times_operators = times_operators,
                           .takes_any_number = takes_any_number,
                           .otherwise = &refuse});
  return {std::move(kernel), count};
}

/// Nanoseconds of a pass over the numbers of some values, the median of `rounds` of 16 passes each.
double number_pass_ns(const nb::sequence& values, int rounds) {
  // A kernel knows its inputs' types.
  std::vector<std::pair<int, std::shared_ptr<const ort::OnnxValue>>> given;
  for (const nb::handle value : values) {
    auto tensor =
        std::static_pointer_cast<const ort::OnnxValue>(nb::cast<const PyValue&>(value).value);
    const int elem_type = tensor->elem_type();
    given.emplace_back(elem_type, std::move(tensor));
  }
  if (rounds < 1) throw std::invalid_argument("rounds must be at least 1");
  const ReleasedGil released;
  std::vector<double> took;
  for (int round = 0; round < rounds; ++round) {
    constexpr int passes = 16;
    bool usual = true;
    const auto began = std::chrono::steady_clock::now();
    for (int pass = 0; pass < passes; ++pass)
      for (const auto& [elem_type, tensor] : given)
        usual = kernels::are_usual(elem_type, tensor->data(), tensor->bytes()) && usual;
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - began;
    if (!usual) throw std::invalid_argument("a number is not finite, or beyond 32 bits");
    took.push_back(time.count() / passes);
  }
  std::ranges::nth_element(took, took.begin() + rounds / 2);
  return took[static_cast<std::size_t>(rounds) / 2];
}

}  // namespace

std::shared_ptr<const kernels::LibraryKernel> PyKernelChoice::make(kernels::KernelParams of) const {
  of.compiled_path = params.compiled_path;
  of.inputs = params.inputs;
  of.output_types = params.output_types;
  of.copies = params.copies;
  of.precision = params.precision;
  if (of.inputs.size() != of.input_names.size() ||
      of.output_types.size() != of.output_names.size() || of.width < 1 || of.copies < 1)
    throw std::invalid_argument("the choice of kernels is of a segment with other values");
  return kernels::get_library(library).make(std::move(of));
}

void bind_kernels(nb::module_& m) {
  m.def(
      "open_kernel_library",
      [](const std::string& name, const std::string& path) {
        return kernels::open_library(name, path).version();
      },
      "name"_a, "path"_a, nb::call_guard<ReleasedGil>(),
      R"(Load a library of kernels, once per process; returns its version.

Raises
------
RuntimeError
    It is missing, lacks a function, or is open from another path.
ValueError
    A name that nobody knows.)");
  m.def(
      "kernel_library_failure",
      [](const std::string& name) { return kernels::get_library(name).failure(); }, "name"_a,
      "Why a library that is open is not used any more; empty while it is.");
  m.def("number_pass_ns", &number_pass_ns, "values"_a, "rounds"_a,
        nb::sig("def number_pass_ns(values: collections.abc.Sequence[Value], rounds: int)"
                " -> float"),
        R"(Nanoseconds of the pass over tensors that a query with a library's kernels begins with.

Raises
------
ValueError
    A number is not finite, or beyond 32 bits, where a pass ends early.)");
  nb::class_<PyCompiledModel>(m, "CompiledModel", "A segment compiled by a library of kernels.")
      .def("run", &PyCompiledModel::run, "inputs"_a,
           nb::sig("def run(self, inputs: collections.abc.Sequence[Value]) -> list[Value]"),
           "Run once; RuntimeError if the library fails or does not take the inputs.")
      .def(
          "export_to",
          [](const PyCompiledModel& self, const std::string& path) {
            const ReleasedGil released;
            self.kernel->export_to(path);
          },
          "path"_a, "Write what `KernelChoice` takes as `compiled`.")
      .def(
          "operator_times",
          [](const PyCompiledModel& self) {
            std::vector<std::pair<std::string, std::int64_t>> times;
            for (kernels::OperatorTime& time : self.kernel->operator_times())
              times.emplace_back(std::move(time.name), time.ns);
            return times;
          },
          R"(Nanoseconds of each operator on average of the runs so far, by the library's name for it.

Those that ran within another have none. RuntimeError if it was not compiled to say so.)");
  nb::class_<PyKernelChoice>(m, "KernelChoice",
                             "Whose kernels a segment runs with, and for which sizes.")
      .def(
          "__init__",
          [](PyKernelChoice* self, std::string library, const Sizes& inputs,
             std::vector<int> output_types, int copies, std::string compiled,
             std::string precision) {
            kernels::KernelParams params{.model_path = {},
                                         .compiled_path = std::move(compiled),
                                         .input_names = {},
                                         .output_names = {},
                                         .inputs = {},
                                         .output_types = std::move(output_types),
                                         .copies = copies,
                                         .precision = std::move(precision),
                                         .otherwise = {}};
            for (const auto& [elem_type, shape] : inputs)
              params.inputs.push_back({elem_type, shape});
            new (self) PyKernelChoice{std::move(library), std::move(params)};
          },
          "library"_a, "inputs"_a, "output_types"_a, "copies"_a = 1, "compiled"_a = "",
          "precision"_a = "f32",
          R"(A library that is open, and what a segment is compiled for.

Parameters
----------
inputs
    Element type and shape of each input.
output_types
    Element type of each output.
copies
    At most so many runs at once.
compiled
    Path of what `CompiledModel.export_to` wrote of the same; compiled anew without.
precision
    What it computes in: f32, bf16 or f16.)")
      .def("compile", &compile, "model"_a, "inputs"_a, "outputs"_a, "width"_a,
           "times_operators"_a = false, "takes_any_number"_a = false,
           R"(Compile an ONNX file outside any plan.

With `takes_any_number` it computes with infinities, NaN and integers beyond 32 bits, too.

Raises
------
RuntimeError
    Why the library does not take it.)");
}

}  // namespace engine
