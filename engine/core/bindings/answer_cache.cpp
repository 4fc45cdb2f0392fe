// Answers that are kept, for queries that Python decodes: found and kept among the front end's.
#include "frontend/answer_cache.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/buffer.hpp"
#include "bindings/front.hpp"
#include "bindings/released_gil.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using frontend::AnswerCache;
using frontend::AnswerKey;
using frontend::KeptAnswerPtr;
using frontend::KeptTensor;
using frontend::TensorView;

/// Name, datatype, shape, raw content.
using TensorSpec = std::tuple<std::string, std::string, std::vector<std::int64_t>, nb::object>;

std::vector<PyBuffer> buffers_of(const std::vector<TensorSpec>& specs) {
  std::vector<PyBuffer> buffers;
  for (const auto& [name, datatype, shape, content] : specs) buffers.emplace_back(content.ptr());
  return buffers;
}

std::vector<TensorView> views_of(const std::vector<TensorSpec>& specs,
                                 const std::vector<PyBuffer>& buffers) {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& [name, datatype, shape, content] = specs[i];
    const auto* const data = static_cast<const std::byte*>(buffers[i].data());
    views.push_back({name, datatype, shape, {data, buffers[i].bytes()}});
  }
  return views;
}

/// A key, and the memory that it has views of.
struct PyAnswerKey {
  PyAnswerKey(const PyAnswerKey&) = delete;
  PyAnswerKey& operator=(const PyAnswerKey&) = delete;
  PyAnswerKey(std::uint64_t load, const std::vector<TensorSpec>& inputs,
              const std::vector<std::string>& outputs)
      : buffers(buffers_of(inputs)) {
    const ReleasedGil released;
    key = frontend::key_of(load, views_of(inputs, buffers), {outputs.begin(), outputs.end()});
  }

  std::vector<PyBuffer> buffers;
  AnswerKey key;
};

/// Over what is kept, which lives as long.
nb::object content_of(const KeptTensor& tensor, const KeptAnswerPtr& kept) {
  static constexpr std::byte nothing{};
  const std::byte* const data = tensor.content.empty() ? &nothing : tensor.content.data();
  auto held = std::make_unique<KeptAnswerPtr>(kept);
  const nb::capsule owner(
      held.get(), [](void* pointer) noexcept { delete static_cast<KeptAnswerPtr*>(pointer); });
  static_cast<void>(held.release());
  return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(
      reinterpret_cast<const std::uint8_t*>(data), {tensor.content.size()}, owner));
}

nb::object find(const PyAnswerCache& self, const PyAnswerKey& key) {
  KeptAnswerPtr kept;
  {
    const ReleasedGil released;
    kept = self.cache->find(key.key);
  }
  if (kept == nullptr) return nb::none();
  nb::list rows;
  for (const KeptTensor& tensor : *kept)
    rows.append(
        nb::make_tuple(tensor.name, tensor.datatype, tensor.shape, content_of(tensor, kept)));
  return rows;
}

void keep(const PyAnswerCache& self, const PyAnswerKey& key,
          const std::vector<TensorSpec>& answer) {
  const std::vector<PyBuffer> buffers = buffers_of(answer);
  const ReleasedGil released;
  self.cache->keep(key.key, views_of(answer, buffers));
}

}  // namespace

void bind_answer_cache(nb::module_& m) {
  nb::class_<PyAnswerKey>(m, "AnswerKey",
                          "What two queries have in common that have the same answer.")
      .def(nb::init<std::uint64_t, const std::vector<TensorSpec>&,
                    const std::vector<std::string>&>(),
           "load"_a, "inputs"_a, "outputs"_a,
           R"(The key of a query of a load of a model, whatever the order of inputs and outputs.

Tensors are (name, datatype, shape, raw content); contents are not copied, and not to be
written to.)");
  nb::class_<PyAnswerCache>(m, "AnswerCache",
                            R"(The answers that were asked for last, as many as there is room for.

Of all models, those that the front end has computed among them. Thread-safe.)")
      .def(
          "__init__",
          [](PyAnswerCache* self, std::size_t most_bytes) {
            new (self) PyAnswerCache{std::make_shared<AnswerCache>(most_bytes)};
          },
          "most_bytes"_a, "`most_bytes`: what all of them may take.")
      .def(
          "begin", [](const PyAnswerCache& self, std::uint64_t load) { self.cache->begin(load); },
          "load"_a, "Keep answers of that load of a model from now on.")
      .def(
          "end",
          [](const PyAnswerCache& self, std::uint64_t load) {
            const ReleasedGil released;
            self.cache->end(load);
          },
          "load"_a, "Forget them, and keep no further one.")
      .def("find", &find, "key"_a,
           nb::sig("def find(self, key: AnswerKey) -> list[tuple[str, str, list[int], "
                   "NDArray[numpy.uint8]]] | None"),
           "The answer to that query, which counts as asked for now: tensors as of a key.")
      .def("keep", &keep, "key"_a, "answer"_a,
           R"(Keep a copy of all outputs that the key is of, unless one is there.

Those go for it that were not asked for longest; one that there could not be room for is
not kept.)")
      .def("__len__", [](const PyAnswerCache& self) { return self.cache->count(); })
      .def_prop_ro(
          "held_bytes", [](const PyAnswerCache& self) { return self.cache->held_bytes(); },
          "What they take, as it is counted.");
}

}  // namespace engine
