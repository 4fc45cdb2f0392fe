// cuDNN without arithmetic: what ONNX Runtime's CUDA provider and its cuDNN frontend call of it.
// The backend's descriptors hold nothing; a graph has one engine without knobs and workspace.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" int nullLaunch(void* stream);

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Handle {
  void* stream = nullptr;
};

EXPORT std::size_t cudnnGetVersion() { return 91300; }
EXPORT const char* cudnnGetErrorString(int) { return "a status of the null cuDNN"; }
EXPORT void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  if (bytes > 0) *text = '\0';
}
EXPORT int cudnnCreate(Handle** handle) {
  *handle = new Handle;
  return 0;
}
EXPORT int cudnnDestroy(Handle* handle) {
  delete handle;
  return 0;
}
EXPORT int cudnnSetStream(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
EXPORT int cudnnGetStream(Handle* handle, void** stream) {
  *stream = handle->stream;
  return 0;
}

#define DESCRIPTOR(kind)                                  \
  EXPORT int cudnnCreate##kind##Descriptor(void** made) { \
    *made = new int;                                      \
    return 0;                                             \
  }                                                       \
  EXPORT int cudnnDestroy##kind##Descriptor(int* made) {  \
    delete made;                                          \
    return 0;                                             \
  }
DESCRIPTOR(Activation)
DESCRIPTOR(Convolution)
DESCRIPTOR(Dropout)
DESCRIPTOR(Filter)
DESCRIPTOR(LRN)
DESCRIPTOR(Pooling)
DESCRIPTOR(RNN)
DESCRIPTOR(RNNData)
DESCRIPTOR(ReduceTensor)
DESCRIPTOR(Tensor)

#define SETTING(name) \
  EXPORT int name() { return 0; }
SETTING(cudnnDeriveBNTensorDescriptor)
SETTING(cudnnSetActivationDescriptor)
SETTING(cudnnSetConvolutionGroupCount)
SETTING(cudnnSetConvolutionMathType)
SETTING(cudnnSetConvolutionNdDescriptor)
SETTING(cudnnSetDropoutDescriptor)
SETTING(cudnnSetFilterNdDescriptor)
SETTING(cudnnSetLRNDescriptor)
SETTING(cudnnSetPoolingNdDescriptor)
SETTING(cudnnSetRNNDataDescriptor)
SETTING(cudnnSetRNNDescriptor_v8)
SETTING(cudnnSetReduceTensorDescriptor)
SETTING(cudnnSetTensorNdDescriptor)

/// The further arguments are not looked at.
#define OPERATION(name) \
  EXPORT int name(Handle* handle) { return nullLaunch(handle->stream); }
OPERATION(cudnnActivationForward)
OPERATION(cudnnAddTensor)
OPERATION(cudnnBatchNormalizationForwardInference)
OPERATION(cudnnBatchNormalizationForwardTraining)
OPERATION(cudnnConvolutionBiasActivationForward)
OPERATION(cudnnConvolutionForward)
OPERATION(cudnnLRNCrossChannelForward)
OPERATION(cudnnPoolingForward)
OPERATION(cudnnReduceTensor)
OPERATION(cudnnSoftmaxForward)
OPERATION(cudnnBackendExecute)

EXPORT int cudnnGetReductionIndicesSize(void*, void*, void*, void*, std::size_t* bytes) {
  *bytes = 0;
  return 0;
}
EXPORT int cudnnGetReductionWorkspaceSize(void*, void*, void*, void*, std::size_t* bytes) {
  *bytes = 256;
  return 0;
}
EXPORT int cudnnDropoutGetStatesSize(void*, std::size_t* bytes) {
  *bytes = 0;
  return 0;
}

EXPORT int cudnnBackendCreateDescriptor(int, void** made) {
  *made = new int;
  return 0;
}
EXPORT int cudnnBackendDestroyDescriptor(int* made) {
  delete made;
  return 0;
}
EXPORT int cudnnBackendFinalize(void*) { return 0; }
EXPORT int cudnnBackendSetAttribute() { return 0; }

/// Numbers are 0, a list of descriptors has one, lists of notes and knobs are empty.
EXPORT int cudnnBackendGetAttribute(void*, int attribute, int type, std::int64_t wanted,
                                    std::int64_t* count, void* values) {
  constexpr int knobs = 302;  // CUDNN_ATTR_ENGINECFG_KNOB_CHOICES
  constexpr int int64_type = 3, descriptor_type = 15, int32_type = 23;
  const bool is_number = type == int64_type || type == int32_type;
  const bool has_one = is_number || (type == descriptor_type && attribute != knobs);
  if (count != nullptr) *count = has_one ? 1 : 0;
  if (is_number && values != nullptr && wanted > 0)
    std::memset(values, 0, type == int64_type ? sizeof(std::int64_t) : sizeof(std::int32_t));
  return 0;
}
