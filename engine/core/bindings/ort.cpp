// Python's view of ONNX Runtime: the library and sessions outside any plan.
// Long because all of them make calls that can be interrupted and cancelled, in one way (Call).
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <chrono>
#include <optional>

#include "bindings/limits.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"
#include "ort/cancel.hpp"
#include "ort/custom_operators.hpp"
#include "ort/kernel.hpp"
#include "ort/plugin.hpp"
#include "ort/session.hpp"
#include "ort/value.hpp"
#include "ort/wide_sessions.hpp"
#include "scheduler/kernel_watch.hpp"
#include "scheduler/status_error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

using ort::InferenceSession;
using Config = std::map<std::string, std::string>;
using Clock = std::chrono::steady_clock;

/// The arguments of one run, ready for the C API; holds references to all of them.
class Call final : public Watched {
 public:
  Call(const InferenceSession& session, const nb::dict& inputs,
       const std::vector<std::string>& outputs)
      : session_(session), deadline_ns_(call_deadline_ns()) {
    KernelWatch::get().start();
    for (const auto& [name, value] : inputs) add_input(nb::cast<std::string>(name), value);
    for (const std::string& name : outputs) add_output(session.output(name));
    if (outputs.empty()) {
      for (const ort::ValueInfo& info : session.outputs()) add_output(info);
    }
  }

  /// Blocks; call without the GIL.
  [[nodiscard]] std::vector<ValuePtr> run() {
    std::vector<OrtValue*> results(output_names_.size());
    {
      if (deadline_ns_ != 0) look(now_ns());  // the watch sees only what lasts
      const KernelWatch::Stay stay(*this);
      ort::check(session_.run(input_names_, inputs_.data(), output_names_, results.data(),
                              token_.options()));
    }
    std::vector<ValuePtr> values;
    values.reserve(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      values.push_back(ort::wrap_output(results[i], optional_[i]));
    }
    return values;
  }

  /// Ends run() soon, this one and later ones.
  void stop() noexcept { token_.cancel(); }
  bool look(std::int64_t now_ns) noexcept override {
    if (deadline_ns_ != 0 && now_ns >= deadline_ns_) stop();
    return false;  // it holds no lane
  }

 private:
  void add_input(const std::string& name, nb::handle value) {
    const ort::ValueInfo& info = session_.input(name);
    if (value.is_none()) return;
    const ValuePtr& given = nb::cast<const PyValue&>(value).value;
    if (ort::unwrap(given) == nullptr) return;  // an absent optional is left out
    input_names_.push_back(info.name.c_str());
    inputs_.push_back(ort::unwrap(given));
    held_.push_back(given);
  }

  void add_output(const ort::ValueInfo& info) {
    output_names_.push_back(info.name.c_str());
    optional_.push_back(info.kind == "optional");
  }

  const InferenceSession& session_;
  const std::int64_t deadline_ns_;
  ort::OrtCancelToken token_;
  std::vector<const char*> input_names_;
  std::vector<const char*> output_names_;
  std::vector<const OrtValue*> inputs_;
  std::vector<ValuePtr> held_;
  std::vector<bool> optional_;
};

std::vector<PyValue> run_session(const InferenceSession& session, const nb::dict& inputs,
                                 const std::vector<std::string>& outputs) {
  release_deferred_buffers();
  Call call(session, inputs, outputs);
  std::vector<ValuePtr> results;
  beside_signals([&] { results = call.run(); }, [&] { call.stop(); });
  std::vector<PyValue> values;
  values.reserve(results.size());
  for (ValuePtr& result : results) values.push_back({std::move(result)});
  return values;
}

std::vector<std::int64_t> measure(Call& call, int repeats, std::int64_t budget_ns, int warmup) {
  for (int i = 0; i < warmup; ++i) static_cast<void>(call.run());
  std::vector<std::int64_t> durations_ns;
  durations_ns.reserve(static_cast<std::size_t>(repeats));
  const auto start = Clock::now();
  auto before = start;
  for (int i = 0; i < repeats; ++i) {
    static_cast<void>(call.run());
    const auto after = Clock::now();
    durations_ns.push_back(std::chrono::nanoseconds(after - before).count());
    before = after;
    if (std::chrono::nanoseconds(after - start).count() >= budget_ns) break;
  }
  return durations_ns;
}

std::vector<std::int64_t> time(const InferenceSession& session, const nb::dict& inputs, int repeats,
                               std::int64_t budget_ns, int warmup) {
  if (repeats < 1) throw std::invalid_argument("repeats must be at least 1");
  Call call(session, inputs, {});
  std::vector<std::int64_t> durations_ns;
  beside_signals([&] { durations_ns = measure(call, repeats, budget_ns, warmup); },
                 [&] { call.stop(); });
  return durations_ns;
}

/// Lets go of the GIL while `open` runs, but for when it calls `when_read`, unless that is None.
template <typename Open>
void open_without_gil(ort::SessionParams& params, const nb::object& when_read, const Open& open) {
  std::optional<ReleasedGil> released(std::in_place);
  if (!when_read.is_none()) {
    params.when_read = [&] {
      released.reset();
      when_read();
      released.emplace();
    };
  }
  open();
}

void construct(InferenceSession* self, const std::variant<nb::bytes, std::string>& model, int width,
               const std::string& level, const Config& config, const std::string& optimized_path,
               const nb::object& when_read) {
  ort::SessionParams params{
      .width = width, .level = level, .config = config, .optimized_path = optimized_path};
  if (const auto* bytes = std::get_if<nb::bytes>(&model)) {
    params.model.assign(bytes->c_str(), bytes->size());
    params.is_bytes = true;
  } else {
    params.model = std::get<std::string>(model);
  }
  open_without_gil(params, when_read, [&] { new (self) InferenceSession(params); });
}

nb::object shape_of(const ort::ValueInfo& info) {
  if (!info.shape) return nb::none();
  nb::list shape;
  for (const auto& [extent, symbol] : *info.shape) {
    if (extent < 0 && !symbol.empty()) {
      shape.append(symbol);
    } else {
      shape.append(extent);
    }
  }
  return shape;
}

nb::list describe(const std::vector<ort::ValueInfo>& infos) {
  nb::list list;
  for (const ort::ValueInfo& info : infos) {
    list.append(nb::make_tuple(info.name, info.kind, info.elem_type, shape_of(info)));
  }
  return list;
}

void construct_whole(WholeModel* self, const std::string& model, int width,
                     const std::string& level, const Config& config, const nb::object& when_read,
                     bool workers_asleep) {
  ort::SessionParams params{.model = model,
                            .width = width,
                            .workers_asleep = workers_asleep,
                            .level = level,
                            .config = config};
  open_without_gil(params, when_read, [&] { new (self) WholeModel(open_whole_model(params)); });
}

void bind_whole_model(nb::module_& m) {
  nb::class_<WholeModel>(m, "WholeModel",
                         R"(A model that was opened before anything is known of it.

While it lives, a plan whose one segment is all of it (same file, width, level and config) runs
on its session.)")
      .def("__init__", &construct_whole, "model"_a, "width"_a, "level"_a = "all",
           "config"_a = Config{}, "when_read"_a = nb::none(), "workers_asleep"_a = false,
           nb::sig("def __init__(self, model: str, width: int, level: str = 'all', "
                   "config: collections.abc.Mapping[str, str] = ..., "
                   "when_read: collections.abc.Callable[[], object] | None = None, "
                   "workers_asleep: bool = False) -> None"),
           R"(Load and optimise a model's file, as `Session` does.

Parameters
----------
workers_asleep
    Whether the threads of its pool, where it has one of its own, begin with `wake_workers`.
    Until then whoever asks computes alone, with the same bits.)")
      .def_prop_ro(
          "are_workers_asleep",
          [](const WholeModel& self) { return self.session()->are_workers_asleep(); },
          "Whether it has a pool of its own whose threads have not begun yet.")
      .def(
          "wake_workers", [](const WholeModel& self) { self.session()->wake_workers(); },
          "Have the threads of its pool help from now on, in a run that is under way, too.")
      .def(
          "wake_workers_after",
          [](const WholeModel& self, std::int64_t ns) { self.session()->wake_workers_after(ns); },
          "ns"_a, "Have them woken by a run that takes so long, at its end; 0 for none.")
      .def_prop_ro(
          "input_info", [](const WholeModel& self) { return describe(self.declared.inputs); },
          nb::sig("def input_info(self) -> list[tuple[str, str, int, list[int | str] | None]]"),
          "As of `Session`.")
      .def_prop_ro(
          "output_info", [](const WholeModel& self) { return describe(self.declared.outputs); },
          nb::sig("def output_info(self) -> list[tuple[str, str, int, list[int | str] | None]]"),
          "As of `Session`.")
      .def_prop_ro(
          "has_defaults", [](const WholeModel& self) { return self.declared.has_defaults; },
          "Whether there are inputs that a query may leave out since the model has a default.");
}

std::vector<std::string> names(const std::vector<ort::ValueInfo>& infos) {
  std::vector<std::string> names;
  for (const ort::ValueInfo& info : infos) names.push_back(info.name);
  return names;
}

void bind_session(nb::module_& m) {
  nb::class_<InferenceSession>(
      m, "Session",
      R"(One ONNX Runtime session outside any plan: profiling, reference, calibration.

Safe to use from several threads at once.)")
      .def("__init__", &construct, "model"_a, "width"_a = 1, "level"_a = "all",
           "config"_a = Config{}, "optimized_path"_a = "", "when_read"_a = nb::none(),
           nb::sig("def __init__(self, model: str | bytes, width: int = 1, level: str = 'all', "
                   "config: collections.abc.Mapping[str, str] = ..., "
                   "optimized_path: str = '', "
                   "when_read: collections.abc.Callable[[], object] | None = None) -> None"),
           R"(Load and optimise a model.

Parameters
----------
model
    Path, or the model's bytes.
width
    Threads inside an operator; 1 creates no thread pool.
level
    "disable_all", "basic", "extended" or "all".
config
    ONNX Runtime's session configuration entries.
optimized_path
    Where to save the optimised model, if not empty.
when_read
    Called when the file is read, before it is optimised, which runs kernels of the model;
    what it raises ends the opening. Not for bytes.

Raises
------
RuntimeError
    ONNX Runtime's reason why the model cannot be loaded.
ValueError
    A bad width or level.)")
      .def_prop_ro(
          "input_names", [](const InferenceSession& self) { return names(self.inputs()); },
          "Names of the inputs, in the model's order.")
      .def_prop_ro(
          "output_names", [](const InferenceSession& self) { return names(self.outputs()); },
          "Names of the outputs, in the model's order.")
      .def_prop_ro(
          "input_info", [](const InferenceSession& self) { return describe(self.inputs()); },
          nb::sig("def input_info(self) -> list[tuple[str, str, int, list[int | str] | None]]"),
          R"(Of each input: name, kind, element type, shape.

The kind is "tensor", "sequence", "map" or "optional", the element type that of the
innermost tensor. A dimension is its extent, its symbolic name, or -1; a shape of unknown
rank is None.)")
      .def_prop_ro(
          "output_info", [](const InferenceSession& self) { return describe(self.outputs()); },
          nb::sig("def output_info(self) -> list[tuple[str, str, int, list[int | str] | None]]"),
          "Of each output, as `input_info`.")
      .def_prop_ro(
          "overridable_info",
          [](const InferenceSession& self) { return describe(self.overridable()); },
          nb::sig("def overridable_info(self) -> "
                  "list[tuple[str, str, int, list[int | str] | None]]"),
          "Of each input that has a default, as `input_info`, which has none of them.")
      .def("run", &run_session, "inputs"_a, "outputs"_a = std::vector<std::string>{},
           nb::sig("def run(self, inputs: dict[str, Value | None], "
                   "outputs: collections.abc.Sequence[str] = ()) -> list[Value]"),
           R"(Run once, without the GIL.

Parameters
----------
inputs
    None stands for an absent optional input.
outputs
    Names of those wanted, in this order; empty for all.

Raises
------
RuntimeError
    A name that the model lacks, or ONNX Runtime's reason why the run failed.)")
      .def("time", &time, "inputs"_a, "repeats"_a, "budget_ns"_a, "warmup"_a = 1,
           nb::sig("def time(self, inputs: dict[str, Value | None], repeats: int, "
                   "budget_ns: int, warmup: int = 1) -> list[int]"),
           R"(Nanoseconds of each of up to `repeats` runs, back to back, without the GIL.

Freeing the outputs is counted. Stops after `budget_ns`, but runs at least once.)");
}

/// A RuntimeError with what the library numbers it as its attribute `code`.
void bind_status_error(nb::module_& m) {
  const nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
      "surplus.engine._core.StatusError",
      "An error of ONNX Runtime; `code` is its OrtErrorCode, or 0 where it did not say.",
      PyExc_RuntimeError, nullptr));
  m.attr("StatusError") = type;  // the module keeps it
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* raised) {
        try {
          std::rethrow_exception(thrown);
        } catch (const StatusError& error) {
          const nb::handle kind(static_cast<PyObject*>(raised));
          const nb::object made = kind(nb::str(error.what()));
          made.attr("code") = error.code();
          PyErr_SetObject(kind.ptr(), made.ptr());
        }
      },
      type.ptr());
}

}  // namespace

nb::list open_plugin(const std::string& name, const std::string& library_path) {
  const ort::Plugin* plugin = nullptr;
  {
    const ReleasedGil released;
    plugin = &ort::Plugin::open(name, library_path);
  }
  nb::list processors;
  for (const ort::PluginProcessor& processor : plugin->processors()) {
    nb::dict row;
    row["provider"] = processor.provider;
    row["kind"] = processor.kind;
    row["vendor"] = processor.vendor;
    row["vendor_id"] = processor.vendor_id;
    row["device_id"] = processor.device_id;
    row["facts"] = processor.facts;
    processors.append(row);
  }
  return processors;
}

void bind_plugins(nb::module_& m) {
  m.def("open_plugin", &open_plugin, "name"_a, "library_path"_a,
        nb::sig("def open_plugin(name: str, library_path: str) -> list[dict[str, Any]]"),
        R"(Register a plugin provider's library with ONNX Runtime, once per process.

Returns
-------
list of dict
    Of each processor that it drives: ``provider``, ``kind`` (CPU, GPU or NPU), ``vendor``,
    ``vendor_id``, ``device_id`` and ``facts``, the provider's own as text. Empty where it finds
    none.

Raises
------
RuntimeError
    ONNX Runtime's reason why the library does not register, or the name is taken by another.)");
  m.def("close_plugins", &ort::Plugin::close_all, nb::call_guard<ReleasedGil>(),
        R"(End the providers' threads, and unregister those that no session uses any more.

For the end of the process, when all machines are closed: nothing can be opened afterwards.)");
}

void bind_ort(nb::module_& m) {
  bind_status_error(m);
  bind_plugins(m);
  m.def("open_runtime", &ort::open_runtime, "library_path"_a, nb::call_guard<ReleasedGil>(),
        R"(Load ONNX Runtime, once per process: env, shared CPU arena, telemetry off.

Parameters
----------
library_path
    Path of ``libonnxruntime.so.*``; the same path again does nothing.

Raises
------
RuntimeError
    The library is missing or too old, or another one is already open.)");
  m.def("add_custom_operators", &ort::add_custom_operators, "library_path"_a,
        nb::call_guard<ReleasedGil>(),
        R"(Have every session that is made from now on know the operators of a library.

Again, nothing happens. The library stays open until the process ends.

Raises
------
RuntimeError
    ONNX Runtime's reason why it is no such library; nothing has changed.)");
  m.def("custom_operators", &ort::custom_operators, "Paths of those libraries, in their order.");
  m.def("runtime_version", &ort::runtime_version, "Version of the open library, as '1.31.1'.");
  m.def(
      "wide_sessions",
      [] {
        const ort::WideSessions::Stats stats = ort::WideSessions::get().stats();
        nb::dict row;
        row["sessions"] = stats.sessions;
        row["own_threads"] = stats.own_threads;
        row["shared_threads"] = stats.pool_threads;
        return row;
      },
      nb::sig("def wide_sessions() -> dict[str, int]"),
      R"(The sessions of plans that are wider than one lane, and their threads.

``sessions`` of them are open; pools of their own have ``own_threads`` threads beside the
callers, and the pool that the others share runs ``shared_threads``.)");
  m.def(
      "expect_wide_sessions",
      [](int sessions, int width) {
        if (sessions < 0 || width < 1)
          throw std::invalid_argument("sessions or width is out of range");
        ort::WideSessions::get().expect(sessions, width - 1);
      },
      "sessions"_a, "width"_a,
      R"(So many sessions are about to be opened; replaces what was said before.

Where these are many, they are opened on the shared pool and need not move there later.)");
  bind_session(m);
  bind_whole_model(m);
}

}  // namespace engine
