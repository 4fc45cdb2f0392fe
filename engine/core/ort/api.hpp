// ONNX Runtime's C API, by slot number.
//
// No wheel ships the headers, but `OrtApi` is an append-only table of function pointers, so the
// slots that we use are declared here with their numbers, as Microsoft's C# binding does. Enums
// travel as int. A function that returns OrtStatus* returns null on success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

struct OrtCUDAProviderOptionsV2;
struct OrtTensorRTProviderOptionsV2;
struct OrtEnv;
struct OrtEpDevice;
struct OrtHardwareDevice;
struct OrtKeyValuePairs;
struct OrtIoBinding;
struct OrtMemoryInfo;
struct OrtOptionalTypeInfo;
struct OrtRunOptions;
struct OrtSequenceTypeInfo;
struct OrtSession;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtSyncStream;
struct OrtTensorTypeAndShapeInfo;
struct OrtThreadingOptions;
struct OrtTypeInfo;
struct OrtValue;

/// An allocator as the C API lays it out, up to what we use; one of ours says so by its version.
struct OrtAllocator {
  static constexpr std::uint32_t kVersion = 18;  ///< the first with Reserve, before later fields
  static constexpr std::uint32_t kStreamVersion = 23;  ///< the first with all of these

  std::uint32_t version;
  void* (*Alloc)(OrtAllocator* self, std::size_t bytes);
  void (*Free)(OrtAllocator* self, void* bytes);
  const OrtMemoryInfo* (*Info)(const OrtAllocator* self);
  void* (*Reserve)(OrtAllocator* self, std::size_t bytes);
  OrtStatus* (*GetStats)(const OrtAllocator* self, void** pairs) = nullptr;  ///< null: it has none
  void* (*AllocOnStream)(OrtAllocator* self, std::size_t bytes, OrtSyncStream* stream) = nullptr;
};

namespace engine::ort {

/// The first version that we take. 1.24 has all slots that are declared below, too, but ends the
/// process where a query divides integers by zero, which 1.25 refuses.
inline constexpr std::uint32_t kApiVersion = 25;

using Table = const void* const*;

/// What `OrtGetApiBase` returns.
struct ApiBase {
  Table (*get_api)(std::uint32_t version);
  const char* (*get_version_string)();
};

enum OnnxType : int { kUnknown, kTensor, kSequence, kMap, kOpaque, kSparseTensor, kOptional };
enum AllocatorType : int { kDeviceAllocator = 0, kArenaAllocator = 1 };
enum MemType : int { kMemTypeCpuOutput = -1, kMemTypeDefault = 0 };
enum HardwareType : int { kHardwareCpu, kHardwareGpu, kHardwareNpu };
enum LoggingLevel : int { kLogFatal = 4 };

template <std::size_t kSlot, typename Signature>
class Slot;

/// One function of the table, called like a function.
template <std::size_t kSlot, typename Result, typename... Args>
class Slot<kSlot, Result(Args...)> {
 public:
  explicit Slot(Table table)
      : function_(reinterpret_cast<Result (*)(Args...)>(const_cast<void*>(table[kSlot]))) {
    if (function_ == nullptr) {
      throw std::runtime_error("this ONNX Runtime lacks the C API function of slot " +
                               std::to_string(kSlot));
    }
  }
  Result operator()(Args... args) const noexcept { return function_(args...); }

 private:
  Result (*function_)(Args...);
};

/// The functions that we use. Immutable, thread-safe; throws when the library lacks one.
class Api {
 private:
  Table table_;  // first: the initialisers below read it
  template <std::size_t kSlot, typename Signature>
  using Fn = Slot<kSlot, Signature>;
  template <std::size_t kSlot, typename... Args>
  using StatusFn = Slot<kSlot, OrtStatus*(Args...)>;

 public:
  explicit Api(Table table) : table_(table) {}

  Fn<1, int(const OrtStatus*)> get_error_code{table_};
  Fn<2, const char*(const OrtStatus*)> get_error_message{table_};
  Fn<93, void(OrtStatus*)> release_status{table_};

  StatusFn<119, int, const char*, const OrtThreadingOptions*, OrtEnv**> create_env_with_pools{
      table_};
  StatusFn<121, OrtThreadingOptions**> create_threading_options{table_};
  Fn<122, void(OrtThreadingOptions*)> release_threading_options{table_};
  StatusFn<147, OrtThreadingOptions*, int> set_global_intra_op_threads{table_};
  StatusFn<148, OrtThreadingOptions*, int> set_global_inter_op_threads{table_};
  StatusFn<149, OrtThreadingOptions*, int> set_global_spin_control{table_};
  StatusFn<199, OrtThreadingOptions*, void* (*)(void*, void (*)(void*), void*)>
      set_global_create_thread{table_};
  StatusFn<201, OrtThreadingOptions*, void (*)(void*)> set_global_join_thread{table_};
  StatusFn<69, int, int, OrtMemoryInfo**> create_cpu_memory_info{table_};
  StatusFn<68, const char*, int, int, int, OrtMemoryInfo**> create_memory_info{table_};
  Fn<94, void(OrtMemoryInfo*)> release_memory_info{table_};
  StatusFn<78, OrtAllocator**> get_default_allocator{table_};
  StatusFn<76, OrtAllocator*, void*> allocator_free{table_};
  StatusFn<131, const OrtSession*, const OrtMemoryInfo*, OrtAllocator**> create_allocator{table_};
  StatusFn<176, OrtEnv*, OrtAllocator*> register_allocator{table_};

  StatusFn<10, OrtSessionOptions**> create_session_options{table_};
  StatusFn<11, OrtSessionOptions*, const char*> set_optimized_model_path{table_};
  StatusFn<23, OrtSessionOptions*, int> set_optimization_level{table_};
  StatusFn<24, OrtSessionOptions*, int> set_intra_op_threads{table_};
  StatusFn<120, OrtSessionOptions*> disable_per_session_threads{table_};
  StatusFn<130, OrtSessionOptions*, const char*, const char*> add_config_entry{table_};
  StatusFn<196, OrtSessionOptions*, void* (*)(void*, void (*)(void*), void*)> set_create_thread{
      table_};
  StatusFn<197, OrtSessionOptions*, void*> set_thread_creation_options{table_};
  StatusFn<198, OrtSessionOptions*, void (*)(void*)> set_join_thread{table_};
  StatusFn<150, OrtSessionOptions*, const char*, const OrtValue*> add_initializer{table_};
  StatusFn<228, OrtSessionOptions*, const char*> register_custom_operators{table_};
  Fn<100, void(OrtSessionOptions*)> release_session_options{table_};

  StatusFn<301, OrtEnv*, const char*, const char*> register_provider_library{table_};
  StatusFn<302, OrtEnv*, const char*> unregister_provider_library{table_};
  StatusFn<303, const OrtEnv*, const OrtEpDevice* const**, std::size_t*> get_ep_devices{table_};
  StatusFn<304, OrtSessionOptions*, OrtEnv*, const OrtEpDevice* const*, std::size_t,
           const char* const*, const char* const*, std::size_t>
      append_provider{table_};
  Fn<312, const char*(const OrtEpDevice*)> ep_device_provider{table_};
  Fn<314, const OrtKeyValuePairs*(const OrtEpDevice*)> ep_device_metadata{table_};
  Fn<316, const OrtHardwareDevice*(const OrtEpDevice*)> ep_device_hardware{table_};
  Fn<307, int(const OrtHardwareDevice*)> hardware_type{table_};
  Fn<308, std::uint32_t(const OrtHardwareDevice*)> hardware_vendor_id{table_};
  Fn<309, const char*(const OrtHardwareDevice*)> hardware_vendor{table_};
  Fn<310, std::uint32_t(const OrtHardwareDevice*)> hardware_device_id{table_};
  Fn<298, void(const OrtKeyValuePairs*, const char* const**, const char* const**, std::size_t*)>
      key_value_pairs{table_};

  StatusFn<205, OrtCUDAProviderOptionsV2**> create_cuda_options{table_};
  StatusFn<206, OrtCUDAProviderOptionsV2*, const char* const*, const char* const*, std::size_t>
      update_cuda_options{table_};
  StatusFn<263, OrtCUDAProviderOptionsV2*, const char*, void*> set_cuda_pointer{table_};
  StatusFn<204, OrtSessionOptions*, const OrtCUDAProviderOptionsV2*> append_cuda{table_};
  Fn<208, void(OrtCUDAProviderOptionsV2*)> release_cuda_options{table_};

  StatusFn<171, OrtTensorRTProviderOptionsV2**> create_tensorrt_options{table_};
  StatusFn<172, OrtTensorRTProviderOptionsV2*, const char* const*, const char* const*, std::size_t>
      update_tensorrt_options{table_};
  StatusFn<261, OrtTensorRTProviderOptionsV2*, const char*, void*> set_tensorrt_pointer{table_};
  StatusFn<170, OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*> append_tensorrt{table_};
  Fn<174, void(OrtTensorRTProviderOptionsV2*)> release_tensorrt_options{table_};

  StatusFn<7, const OrtEnv*, const char*, const OrtSessionOptions*, OrtSession**> create_session{
      table_};
  StatusFn<8, const OrtEnv*, const void*, std::size_t, const OrtSessionOptions*, OrtSession**>
      create_session_from_array{table_};
  Fn<291, Table()> get_model_editor{table_};
  Fn<95, void(OrtSession*)> release_session{table_};
  StatusFn<30, const OrtSession*, std::size_t*> session_input_count{table_};
  StatusFn<31, const OrtSession*, std::size_t*> session_output_count{table_};
  StatusFn<33, const OrtSession*, std::size_t, OrtTypeInfo**> session_input_type{table_};
  StatusFn<34, const OrtSession*, std::size_t, OrtTypeInfo**> session_output_type{table_};
  StatusFn<36, const OrtSession*, std::size_t, OrtAllocator*, char**> session_input_name{table_};
  StatusFn<37, const OrtSession*, std::size_t, OrtAllocator*, char**> session_output_name{table_};
  StatusFn<32, const OrtSession*, std::size_t*> session_overridable_count{table_};
  StatusFn<35, const OrtSession*, std::size_t, OrtTypeInfo**> session_overridable_type{table_};
  StatusFn<38, const OrtSession*, std::size_t, OrtAllocator*, char**> session_overridable_name{
      table_};
  StatusFn<9, OrtSession*, const OrtRunOptions*, const char* const*, const OrtValue* const*,
           std::size_t, const char* const*, std::size_t, OrtValue**>
      run{table_};

  StatusFn<134, OrtSession*, OrtIoBinding**> create_binding{table_};
  StatusFn<136, OrtIoBinding*, const char*, const OrtValue*> bind_input{table_};
  StatusFn<137, OrtIoBinding*, const char*, const OrtValue*> bind_output{table_};
  StatusFn<138, OrtIoBinding*, const char*, const OrtMemoryInfo*> bind_output_to_device{table_};
  StatusFn<133, OrtSession*, const OrtRunOptions*, const OrtIoBinding*> run_with_binding{table_};
  StatusFn<140, const OrtIoBinding*, OrtAllocator*, OrtValue***, std::size_t*> bound_output_values{
      table_};
  Fn<141, void(OrtIoBinding*)> clear_bound_inputs{table_};
  Fn<142, void(OrtIoBinding*)> clear_bound_outputs{table_};
  Fn<135, void(OrtIoBinding*)> release_binding{table_};

  StatusFn<39, OrtRunOptions**> create_run_options{table_};
  StatusFn<165, OrtRunOptions*, const char*, const char*> add_run_config_entry{table_};
  StatusFn<46, OrtRunOptions*> set_terminate{table_};
  StatusFn<47, OrtRunOptions*> unset_terminate{table_};
  Fn<97, void(OrtRunOptions*)> release_run_options{table_};

  StatusFn<56, const OrtTypeInfo*, int*> type_kind{table_};
  StatusFn<55, const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**> as_tensor_type{table_};
  StatusFn<104, const OrtTypeInfo*, const OrtSequenceTypeInfo**> as_sequence_type{table_};
  StatusFn<107, const OrtSequenceTypeInfo*, OrtTypeInfo**> sequence_element_type{table_};
  StatusFn<250, const OrtTypeInfo*, const OrtOptionalTypeInfo**> as_optional_type{table_};
  StatusFn<251, const OrtOptionalTypeInfo*, OrtTypeInfo**> optional_contained_type{table_};
  Fn<98, void(OrtTypeInfo*)> release_type_info{table_};
  StatusFn<60, const OrtTensorTypeAndShapeInfo*, int*> tensor_element_type{table_};
  StatusFn<61, const OrtTensorTypeAndShapeInfo*, std::size_t*> dimensions_count{table_};
  StatusFn<62, const OrtTensorTypeAndShapeInfo*, std::int64_t*, std::size_t> dimensions{table_};
  StatusFn<63, const OrtTensorTypeAndShapeInfo*, const char**, std::size_t> symbolic_dimensions{
      table_};
  Fn<390, bool(const OrtTensorTypeAndShapeInfo*)> has_shape{table_};
  Fn<99, void(OrtTensorTypeAndShapeInfo*)> release_tensor_type{table_};

  StatusFn<48, OrtAllocator*, const std::int64_t*, std::size_t, int, OrtValue**> create_tensor{
      table_};
  StatusFn<49, const OrtMemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t, int,
           OrtValue**>
      create_tensor_over{table_};
  StatusFn<292, OrtAllocator*, void*, std::size_t, const std::int64_t*, std::size_t, int,
           OrtValue**>
      create_tensor_with_deleter{table_};
  StatusFn<51, OrtValue*, void**> tensor_data{table_};
  StatusFn<65, const OrtValue*, OrtTensorTypeAndShapeInfo**> tensor_type_and_shape{table_};
  StatusFn<318, const OrtValue*, std::size_t*> tensor_bytes{table_};
  StatusFn<53, const OrtValue*, std::size_t*> strings_length{table_};
  StatusFn<54, const OrtValue*, void*, std::size_t, std::size_t*, std::size_t> strings_content{
      table_};
  StatusFn<252, OrtValue*, std::size_t, std::size_t, char**> resized_string_buffer{table_};
  StatusFn<67, const OrtValue*, int*> value_type{table_};
  StatusFn<192, const OrtValue*, int*> has_value{table_};
  StatusFn<80, const OrtValue*, int, OrtAllocator*, OrtValue**> get_value{table_};
  StatusFn<81, const OrtValue*, std::size_t*> value_count{table_};
  StatusFn<82, const OrtValue* const*, std::size_t, int, OrtValue**> create_value{table_};
  Fn<96, void(OrtValue*)> release_value{table_};
};

/// Those of `OrtModelEditorApi` that open a session in two steps. Immutable, thread-safe.
class ModelEditor {
 private:
  Table table_;
  template <std::size_t kSlot, typename... Args>
  using StatusFn = Slot<kSlot, OrtStatus*(Args...)>;

 public:
  explicit ModelEditor(Table table) : table_(table) {}

  StatusFn<15, const OrtEnv*, const char*, const OrtSessionOptions*, OrtSession**> read_session{
      table_};
  StatusFn<19, OrtSession*, const OrtSessionOptions*, void*> initialise_session{table_};
};

}  // namespace engine::ort
