#include "ort/session.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "files/onnx_threads.hpp"
#include "ort/custom_operators.hpp"
#include "ort/plugin.hpp"
#include "ort/types.hpp"
#include "scheduler/clock.hpp"

namespace engine::ort {
namespace {

int level_number(const std::string& level) {
  static constexpr std::array<std::pair<const char*, int>, 5> kLevels = {
      {{"disable_all", 0}, {"basic", 1}, {"extended", 2}, {"layout", 3}, {"all", 99}}};
  for (const auto& [name, number] : kLevels) {
    if (level == name) return number;
  }
  throw std::invalid_argument("optimisation level '" + level +
                              "' is not one of disable_all, basic, extended, layout, all");
}

std::unique_ptr<Workers> make_workers(const SessionParams& params) {
  return params.width > 1 && !params.shared_pool ? std::make_unique<Workers>(params.workers_asleep)
                                                 : nullptr;
}

Handle<OrtSessionOptions> make_options(const SessionParams& params, Workers* workers) {
  if (params.width < 1) {
    throw std::invalid_argument("width " + std::to_string(params.width) + " is below 1");
  }
  auto options = create<OrtSessionOptions>(api().create_session_options);
  check(api().set_optimization_level(options.get(), level_number(params.level)));
  if (params.shared_pool) {
    check(api().disable_per_session_threads(options.get()));
  } else {
    check(api().set_intra_op_threads(options.get(), params.width));
  }
  std::map<std::string, std::string> entries = params.config;
  entries.emplace("session.use_env_allocators", "1");
  // A pool that still spins after its segment would take the core of the next lane.
  if (params.width > 1 && !params.shared_pool) entries.emplace("session.force_spinning_stop", "1");
  for (const std::string& library : custom_operators()) {
    const auto is_it = [&](const auto& entry) {
      return entry.first.starts_with(kCustomOperators) && entry.second == library;
    };
    if (std::ranges::none_of(entries, is_it))
      check(api().register_custom_operators(options.get(), library.c_str()));
  }
  for (const auto& [key, value] : entries) {
    if (key.starts_with(kCustomOperators)) {
      check(api().register_custom_operators(options.get(), value.c_str()));
    } else {
      check(api().add_config_entry(options.get(), key.c_str(), value.c_str()));
    }
  }
  if (!params.optimized_path.empty()) {
    check(api().set_optimized_model_path(options.get(), params.optimized_path.c_str()));
  }
  if (params.plugin != nullptr) params.plugin->prefer(options.get());
  if (workers != nullptr) workers->serve(api(), options.get());
  return options;
}

/// The two halves of what create_session() does.
Handle<OrtSession> make_in_two_steps(const SessionParams& params,
                                     const OrtSessionOptions* options) {
  if (params.is_bytes) throw std::invalid_argument("when_read is for files, not for bytes");
  const ModelEditor editor(api().get_model_editor());
  auto session =
      create<OrtSession>(editor.read_session, Runtime::get().env(), params.model.c_str(), options);
  params.when_read();
  check(editor.initialise_session(session.get(), options, nullptr));
  return session;
}

Handle<OrtSession> make_session(const SessionParams& params, Workers* workers,
                                const std::function<void(OrtSessionOptions*)>& extend) {
  const auto options = make_options(params, workers);
  if (extend) extend(options.get());
  const OrtEnv* env = Runtime::get().env();
  if (params.when_read) return make_in_two_steps(params, options.get());
  if (!params.is_bytes) {
    return create<OrtSession>(api().create_session, env, params.model.c_str(), options.get());
  }
  return create<OrtSession>(api().create_session_from_array, env,
                            static_cast<const void*>(params.model.data()), params.model.size(),
                            options.get());
}

void read_tensor(const OrtTypeInfo* type, ValueInfo& info) {
  const auto* tensor = query<const OrtTensorTypeAndShapeInfo*>(api().as_tensor_type, type);
  info.elem_type = from_ort(query<int>(api().tensor_element_type, tensor));
  if (!api().has_shape(tensor)) return;
  const auto rank = query<std::size_t>(api().dimensions_count, tensor);
  std::vector<std::int64_t> extents(rank);
  std::vector<const char*> symbols(rank);
  check(api().dimensions(tensor, extents.data(), rank));
  check(api().symbolic_dimensions(tensor, symbols.data(), rank));
  info.shape.emplace();
  for (std::size_t i = 0; i < rank; ++i) info.shape->push_back({extents[i], symbols[i]});
}

/// Fills kind, elem_type and shape, looking into sequences and optionals.
void read_type(const OrtTypeInfo* type, ValueInfo& info) {
  switch (query<int>(api().type_kind, type)) {
    case kTensor:
      info.kind = "tensor";
      return read_tensor(type, info);
    case kSequence: {
      const auto* sequence = query<const OrtSequenceTypeInfo*>(api().as_sequence_type, type);
      read_type(create<OrtTypeInfo>(api().sequence_element_type, sequence).get(), info);
      info.kind = "sequence";
      return;
    }
    case kOptional: {
      const auto* optional = query<const OrtOptionalTypeInfo*>(api().as_optional_type, type);
      read_type(create<OrtTypeInfo>(api().optional_contained_type, optional).get(), info);
      info.kind = "optional";
      return;
    }
    case kMap:
      info.kind = "map";
      return;
    default:
      info.kind = "unsupported";
  }
}

template <typename Count, typename Name, typename Type>
std::vector<ValueInfo> read_infos(const OrtSession* session, const Count& count, const Name& name,
                                  const Type& type) {
  std::vector<ValueInfo> infos(query<std::size_t>(count, session));
  for (std::size_t i = 0; i < infos.size(); ++i) {
    infos[i].name = create<char>(name, session, i, Runtime::get().allocator()).get();
    read_type(create<OrtTypeInfo>(type, session, i).get(), infos[i]);
  }
  return infos;
}

const ValueInfo* find(const std::vector<ValueInfo>& infos, const std::string& name) {
  const auto found = std::ranges::find(infos, name, &ValueInfo::name);
  return found == infos.end() ? nullptr : &*found;
}

[[noreturn]] void throw_unknown(const std::vector<ValueInfo>& infos, const std::string& name,
                                const std::string& what) {
  std::string known;
  for (const ValueInfo& info : infos) known += (known.empty() ? "" : ", ") + info.name;
  throw std::runtime_error("the model has no " + what + " '" + name + "'; it has: " + known);
}

}  // namespace

SessionParams without_races(SessionParams params) {
  if (params.are_races_known || (params.width <= 1 && !params.shared_pool)) return params;
  params.are_races_known = true;
  const ThreadEffects effects =
      params.is_bytes ? thread_effects(params.model) : thread_effects_of(params.model);
  if (!effects.race) return params;
  params.width = 1;
  params.shared_pool = false;
  return params;
}

InferenceSession::InferenceSession(const SessionParams& params,
                                   const std::function<void(OrtSessionOptions*)>& extend)
    : InferenceSession(Settled{without_races(params)}, extend) {}

InferenceSession::InferenceSession(const Settled& settled,
                                   const std::function<void(OrtSessionOptions*)>& extend)
    : api_(api()),
      workers_(make_workers(settled.params)),
      session_(make_session(settled.params, workers_.get(), extend)) {
  inputs_ = read_infos(session_.get(), api_.session_input_count, api_.session_input_name,
                       api_.session_input_type);
  overridable_ = read_infos(session_.get(), api_.session_overridable_count,
                            api_.session_overridable_name, api_.session_overridable_type);
  outputs_ = read_infos(session_.get(), api_.session_output_count, api_.session_output_name,
                        api_.session_output_type);
}

OrtStatus* InferenceSession::run_asleep(std::span<const char* const> input_names,
                                        const OrtValue* const* inputs,
                                        std::span<const char* const> output_names,
                                        OrtValue** outputs,
                                        const OrtRunOptions* options) const noexcept {
  const std::int64_t began_ns = now_ns();
  OrtStatus* status =
      api_.run(session_.get(), options, input_names.data(), inputs, input_names.size(),
               output_names.data(), output_names.size(), outputs);
  if (workers_->wakes_after(now_ns() - began_ns)) workers_->wake();
  return status;
}

const ValueInfo& InferenceSession::input(const std::string& name) const {
  if (const ValueInfo* info = find(inputs_, name)) return *info;
  if (const ValueInfo* info = find(overridable_, name)) return *info;
  throw_unknown(inputs_, name, "input");
}

bool InferenceSession::reads(const std::string& name) const noexcept {
  return find(inputs_, name) != nullptr || find(overridable_, name) != nullptr;
}

const ValueInfo& InferenceSession::output(const std::string& name) const {
  if (const ValueInfo* info = find(outputs_, name)) return *info;
  throw_unknown(outputs_, name, "output");
}

bool blames_output(std::string_view error) noexcept {
  static constexpr std::array<std::string_view, 4> kTexts = {"pre-allocated output", "for output",
                                                             "shape verification failed",
                                                             "Unexpected output data type"};
  return std::ranges::any_of(kTexts,
                             [&](std::string_view text) { return error.find(text) != error.npos; });
}

}  // namespace engine::ort
