// Queries from arrays to arrays without Python code between them: the path of Model.run.
// Long because all of that path is here, to be inlined.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/buffer.hpp"
#include "bindings/limits.hpp"
#include "bindings/plan.hpp"
#include "bindings/small_arrays.hpp"
#include "bindings/value.hpp"
#include "ort/types.hpp"
#include "scheduler/signal_hook.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

/// A waiting caller handles signals no later than that.
constexpr std::int64_t slice_ns = 50'000'000;

/// Ends the run if it is not done in time, or if a signal's handler raises.
void wait_or_cancel(Run& run, std::int64_t until_ns) {
  try {
    if (wait_for(run, until_ns, false)) return;
  } catch (const nb::python_error&) {
    run.cancel();
    throw;
  }
  run.cancel();
  PyErr_Format(PyExc_TimeoutError, "the run did not end in time and was cancelled");
  throw nb::python_error();
}

}  // namespace

std::int64_t until_ns(double timeout_s) {
  constexpr double longest_s = 1e9;  // of 30 years; the nanoseconds of 300 exceed 64 bits
  if (std::isnan(timeout_s)) throw std::invalid_argument("a timeout must be a number, got nan");
  if (timeout_s < 0 || timeout_s > longest_s) return 0;
  return now_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
}

bool wait_for(Run& run, std::int64_t until_ns, bool help) {
  const bool helps = help && until_ns == 0 && !run.plan().lasts_long();
  const bool hears = helps && handles_signals();  // what comes while it computes
  if (hears) run.hear_signals();
  for (;;) {
    const std::int64_t slice_end_ns = now_ns() + slice_ns;
    const bool is_last = until_ns != 0 && until_ns <= slice_end_ns;
    bool done = false;
    {
      const ReleasedGil released;
      done =
          (helps && run.help(slice_end_ns)) || run.wait(is_last ? until_ns : slice_end_ns, false);
    }
    const bool is_over = done || is_last;
    // What came while this thread computed was heard; while it waited, Python has noted it.
    const bool is_due = !is_over || (hears && SignalHook::get().remove());
    if (is_due && PyErr_CheckSignals() != 0) {
      if (hears && !is_over) {
        run.cancel();  // as a signal that is heard does; nobody hooks it again
        SignalHook::get().remove();
      }
      throw nb::python_error();
    }
    if (is_over) return done;
  }
}

PyRun start(const PyPlan& self, const std::vector<ValuePtr>& inputs, RunOptions options) {
  // The lane that it wakes may take the calling thread's core, which must not hold up all others.
  const ReleasedGil released;
  return {self.owner, self.plan->machine().submit(*self.plan, inputs, std::move(options))};
}

PyRun execute(const PyPlan& self, const std::vector<ValuePtr>& inputs, double timeout_s,
              bool traced, std::int64_t due_ns) {
  release_deferred_buffers();
  const Plan& plan = *self.plan;
  const std::int64_t start_ns = coarse_now_ns();
  const std::int64_t limit_ns = until_ns(timeout_s);
  PyRun started{self.owner, {}};
  RunOptions options{.deadline_ns = call_deadline_ns(), .due_ns = due_ns, .traced = traced};
  bool was_stopped = false;
  if (limit_ns == 0 && !plan.lasts_long()) {
    options.hears_signals = handles_signals();
    {
      const ReleasedGil released;
      started.run = plan.machine().run(plan, inputs, options, 0);
    }
    was_stopped = options.hears_signals && SignalHook::get().remove() &&
                  started.run->outcome() == Outcome::cancelled;
    if (was_stopped && PyErr_CheckSignals() != 0) throw nb::python_error();
    options.hears_signals = false;
  }
  // Also again, where the signal's handler did not raise.
  if (!started.run.get() || was_stopped) {
    started.run = plan.machine().submit(plan, inputs, options);
    wait_or_cancel(*started.run, limit_ns);
  }
  if (started.run->outcome() != Outcome::refused) plan.note_duration(coarse_now_ns() - start_ns);
  return started;
}

PyRecording::PyRecording(const Run& run, std::vector<std::int64_t> moments_ns)
    : submitted_ns(run.submitted_ns()), moments(std::move(moments_ns)) {
  if (!run.done()) throw std::invalid_argument("a run is recorded once it is done");
  spans.assign(run.spans().begin(), run.spans().end());
}

SpanRows span_rows(std::span<const NodeSpan> spans, std::int64_t submitted_ns) {
  auto data = std::make_unique<std::vector<std::int64_t>>();
  data->reserve(5 * spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i)
    data->insert(data->end(),
                 {static_cast<std::int64_t>(i), spans[i].lane, spans[i].ready_ns - submitted_ns,
                  spans[i].start_ns - submitted_ns, spans[i].end_ns - submitted_ns});
  std::int64_t* const begin = data->data();
  const nb::capsule owner(
      data.release(), [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
  return {begin, {spans.size(), 5}, owner};
}

namespace {

/// As engine/shapes.py, whose error the careful path gives.
constexpr std::size_t max_rank = 32;

using Extents = std::optional<std::vector<std::int64_t>>;
using PortSpec = std::tuple<nb::str, int, Extents>;

/// An input: its name, element type and extents (-1: any); no extents if the rank is unknown.
struct Port {
  nb::str name;
  int elem_type;
  Extents extents;

  /// Empty dimensions are left to the careful path (engine/trial/empty_inputs.py).
  [[nodiscard]] bool fits(const std::vector<std::int64_t>& shape) const {
    if (std::ranges::find(shape, 0) != shape.end()) return false;
    if (!extents) return shape.size() <= max_rank;
    if (extents->size() != shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if ((*extents)[i] >= 0 && (*extents)[i] != shape[i]) return false;
    return true;
  }
};

/// From here on, other threads run while bytes are copied.
constexpr std::size_t long_copy_bytes = 1 << 20;

/// A tensor's memory: whose it is, and where it begins.
struct Content {
  ort::Owner owner;
  void* data;
};

Content copy_of(const PyBuffer& buffer) {
  ort::Owner owner(std::aligned_alloc(64, (buffer.bytes() / 64 + 1) * 64), &std::free);
  if (owner == nullptr) throw std::bad_alloc();
  std::optional<ReleasedGil> released;
  if (buffer.bytes() >= long_copy_bytes) released.emplace();
  std::memcpy(owner.get(), buffer.data(), buffer.bytes());
  released.reset();
  void* const data = owner.get();
  return {std::move(owner), data};
}

/// What a run reads: the buffer itself, or a copy where its owner may change it before the run
/// ends.
Content content_of(PyBuffer&& buffer, bool outlives_call) {
  if (outlives_call && !buffer.read_only()) return copy_of(buffer);
  void* const data = buffer.data();
  return {std::move(buffer).take(), data};
}

/// Keys of a dict for each row, and their columns; by output.
using Zip = std::pair<nb::list, std::vector<std::size_t>>;
using ZipSpecs = std::map<std::size_t, Zip>;

/// Answers what is plain: every input there, a C-contiguous array of the right type and shape.
class PyQuery {
 public:
  PyQuery(const PyPlan& plan, nb::object array_type, const std::vector<PortSpec>& inputs,
          std::vector<nb::str> outputs, nb::object convert, const ZipSpecs& zips)
      : plan_(plan),
        array_type_(std::move(array_type)),
        outputs_(std::move(outputs)),
        convert_(std::move(convert)),
        small_(array_type_) {
    for (const auto& [name, elem_type, extents] : inputs)
      inputs_.push_back({name, elem_type, extents});
    zips_.resize(outputs_.size());
    for (const auto& [output, zip] : zips) zips_.at(output) = zip;
  }

  /// The outputs by name; the run if it did not end well; None if the inputs are not plain.
  [[nodiscard]] nb::object answer(const nb::dict& inputs, std::int64_t due_ns) const {
    std::vector<ValuePtr> values;
    if (!collect(inputs, values)) return nb::none();
    PyRun done = execute(plan_, values, -1.0, false, due_ns);
    if (done.run->outcome() != Outcome::ok) return nb::cast(std::move(done));
    return outputs(done);
  }

  /// As answer(), with the recording beside the outputs.
  [[nodiscard]] nb::object answer_traced(const nb::dict& inputs, std::int64_t due_ns) const {
    std::vector<std::int64_t> moments{now_ns()};
    std::vector<ValuePtr> values;
    if (!collect(inputs, values)) return nb::none();
    moments.push_back(now_ns());
    PyRun done = execute(plan_, values, -1.0, true, due_ns);
    moments.push_back(now_ns());
    if (done.run->outcome() != Outcome::ok) return nb::cast(std::move(done));
    nb::dict result = outputs(done);
    moments.push_back(now_ns());
    return nb::make_tuple(std::move(result), PyRecording(*done.run, std::move(moments)));
  }

  /// The run, started; None if the inputs are not plain.
  [[nodiscard]] nb::object submit(const nb::dict& inputs, std::int64_t deadline_ns,
                                  std::optional<int> priority, std::int64_t due_ns,
                                  std::optional<bool> best_effort) const {
    std::vector<ValuePtr> values;
    if (!collect(inputs, values, true)) return nb::none();
    release_deferred_buffers();
    const RunOptions options{.deadline_ns = limited(deadline_ns),
                             .due_ns = due_ns,
                             .priority = priority,
                             .best_effort = best_effort};
    return nb::cast(start(plan_, values, options));
  }

  /// The outputs by name of a run that ended well.
  [[nodiscard]] nb::dict outputs(const PyRun& done) const {
    nb::dict result;
    const std::vector<ValuePtr> values = done.run->outputs();
    if (values.size() != outputs_.size())
      throw nb::value_error("the run is not one of this query's model");
    std::vector<nb::object> arrays = small_.of(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (zips_[i])
        arrays[i] = zip_rows(PyValue{values[i]}, zips_[i]->first, zips_[i]->second);
      else if (!arrays[i].is_valid())
        arrays[i] = to_python(nb::cast(PyValue{values[i]}));
      result[outputs_[i]] = arrays[i];
    }
    return result;
  }

 private:
  [[nodiscard]] nb::object to_python(nb::object value) const {
    return is_tensor(nb::cast<const PyValue&>(value)) ? value_to_numpy(value) : convert_(value);
  }

  bool collect(const nb::dict& inputs, std::vector<ValuePtr>& values,
               bool outlives_call = false) const {
    if (inputs.size() != inputs_.size()) return false;
    values.reserve(inputs_.size());
    for (const Port& port : inputs_) {
      PyObject* const item = PyDict_GetItemWithError(inputs.ptr(), port.name.ptr());
      if (item == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(item)) != array_type_.ptr())
        return false;
      ValuePtr value = plain_tensor(item, port, outlives_call);
      if (!value) return false;
      values.push_back(std::move(value));
    }
    return true;
  }

  static ValuePtr plain_tensor(PyObject* item, const Port& port, bool outlives_call) {
    try {
      PyBuffer buffer(item);
      const std::vector<std::int64_t> shape = buffer.shape();
      if (port.elem_type == ort::kString)
        return buffer.format() == std::string_view("O") && port.fits(shape) ? strings_of(buffer)
                                                                            : nullptr;
      if (!buffer.aligned() || !buffer_holds(buffer, port.elem_type) || !port.fits(shape))
        return nullptr;
      const std::size_t bytes = buffer.bytes();
      auto [owner, data] = content_of(std::move(buffer), outlives_call);
      return ort::wrap_tensor(data, bytes, port.elem_type, shape, std::move(owner));
    } catch (const nb::python_error&) {
      return nullptr;  // not contiguous; the careful path copies it
    } catch (const nb::builtin_exception&) {
      return nullptr;  // no string; the careful path says which
    }
  }

  PyPlan plan_;
  nb::object array_type_;
  std::vector<Port> inputs_;
  std::vector<nb::str> outputs_;
  nb::object convert_;
  std::vector<std::optional<Zip>> zips_;
  SmallArrays small_;
};

}  // namespace

void bind_query(nb::module_& m) {
  nb::class_<PyRecording>(m, "Recording",
                          "What a finished traced run recorded, without its outputs.")
      .def(
          "__init__",
          [](PyRecording* self, const PyRun& run, std::vector<std::int64_t> moments) {
            new (self) PyRecording(*run.run, std::move(moments));
          },
          "run"_a, "moments"_a,
          nb::sig("def __init__(self, run: Run, moments: Sequence[int]) -> None"))
      .def(
          "spans", [](const PyRecording& self) { return span_rows(self.spans, self.submitted_ns); },
          "As Run.spans.")
      .def_prop_ro(
          "stacked",
          [](const PyRecording& self) { return self.spans.empty() ? 1 : self.spans[0].stacked; },
          "As Run.stacked.")
      .def_ro("submitted_ns", &PyRecording::submitted_ns, "As Run.submitted_ns.")
      .def_ro("moments", &PyRecording::moments,
              "When the caller did what (CallTimes), on time.monotonic_ns()'s clock.")
      .def_prop_ro("done", [](const PyRecording&) { return true; });

  nb::class_<PyQuery>(m, "Query", "Arrays in, arrays out, for models of plain tensors.")
      .def(nb::init<const PyPlan&, nb::object, const std::vector<PortSpec>&, std::vector<nb::str>,
                    nb::object, const ZipSpecs&>(),
           "plan"_a, "array_type"_a, "inputs"_a, "outputs"_a, "convert"_a, "zips"_a = ZipSpecs(),
           nb::sig("def __init__(self, plan: Plan, array_type: type, inputs: "
                   "Sequence[tuple[str, int, Sequence[int] | None]], outputs: Sequence[str], "
                   "convert: Callable[[Value], object], zips: Mapping[int, "
                   "tuple[list[typing.Any], Sequence[int]]] = {}) -> None"),
           R"(`inputs` are (name, element type, extents) with -1 for any extent.

All inputs, and outputs that are tensors, are of types that numpy has, or strings; `convert`
makes Python's objects of other outputs. Rows of `zips` become dicts: by output, keys and
their columns.)")
      .def("answer", &PyQuery::answer, "inputs"_a, "due_ns"_a = 0,
           nb::sig("def answer(self, inputs: dict[str, numpy.ndarray], due_ns: int = 0) -> "
                   "dict[str, numpy.ndarray] | Run | None"),
           R"(Outputs by name; the run where it failed; None where an input is not plain.

Plain is an array of exactly `array_type` that is C-contiguous, aligned, and of the right
element type and shape. What is not plain needs the careful path, which also says why.)")
      .def("answer_traced", &PyQuery::answer_traced, "inputs"_a, "due_ns"_a = 0,
           nb::sig("def answer_traced(self, inputs: dict[str, numpy.ndarray], due_ns: int = 0) -> "
                   "tuple[dict[str, numpy.ndarray], Recording] | Run | None"),
           "As answer, of a traced run, with what it recorded.")
      .def("submit", &PyQuery::submit, "inputs"_a, "deadline_ns"_a = 0,
           "priority"_a.none() = nb::none(), "due_ns"_a = 0, "best_effort"_a.none() = nb::none(),
           nb::sig("def submit(self, inputs: dict[str, numpy.ndarray], deadline_ns: int = 0, "
                   "priority: int | None = None, due_ns: int = 0, "
                   "best_effort: bool | None = None) -> Run | None"),
           R"(Plan.submit of plain arrays; None where an input is not plain.

What its owner can change is copied, a read-only array is read in place.)")
      .def("outputs", &PyQuery::outputs, "run"_a,
           nb::sig("def outputs(self, run: Run) -> dict[str, numpy.ndarray]"),
           "Outputs by name of a run that ended well, of any plan of the same model.");
}

}  // namespace engine
