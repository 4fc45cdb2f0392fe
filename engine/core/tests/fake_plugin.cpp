// A plugin execution provider for tests: a library that ONNX Runtime registers as any other.
//
// It takes Neg, Abs and Relu of any float tensor and Add of two of one shape, computes them on the
// host, and counts every call that does not come from the thread that made the first session. The
// name that it is registered under says what it does: "idle" drives no processor, "broken" does
// not register, "failing" fails in the middle of every run, "wrong" computes Neg as Abs.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ort/api.hpp"

struct OrtEp;
struct OrtEpFactory;
struct OrtEpGraphSupportInfo;
struct OrtGraph;
struct OrtKernelContext;
struct OrtLogger;
struct OrtNode;

namespace {

using engine::ort::ApiBase;
using engine::ort::Slot;
using engine::ort::Table;

/// Of the interface, 1.23: what was added later is not asked of us.
constexpr std::uint32_t interface_version = 23;

/// What a provider calls, by slot numbers.
class Calls {
 private:
  Table table_;
  template <std::size_t kSlot, typename... Args>
  using StatusFn = Slot<kSlot, OrtStatus*(Args...)>;

 public:
  explicit Calls(Table table) : table_(table) {}

  StatusFn<0, int, const char*> create_status{table_};
  StatusFn<51, OrtValue*, void**> data{table_};
  StatusFn<61, const OrtTensorTypeAndShapeInfo*, std::size_t*> rank{table_};
  StatusFn<62, const OrtTensorTypeAndShapeInfo*, std::int64_t*, std::size_t> dimensions{table_};
  StatusFn<65, const OrtValue*, OrtTensorTypeAndShapeInfo**> shape{table_};
  Slot<99, void(OrtTensorTypeAndShapeInfo*)> release_shape{table_};
  StatusFn<88, const OrtKernelContext*, std::size_t*> input_count{table_};
  StatusFn<90, const OrtKernelContext*, std::size_t, const OrtValue**> input{table_};
  StatusFn<91, OrtKernelContext*, std::size_t, const std::int64_t*, std::size_t, OrtValue**> output{
      table_};
  Slot<317, Table()> provider_calls{table_};
  StatusFn<344, const OrtGraph*, std::size_t*> node_count{table_};
  StatusFn<345, const OrtGraph*, const OrtNode**, std::size_t> nodes{table_};
  StatusFn<350, const OrtNode*, const char**> operator_type{table_};
};

/// The functions that ONNX Runtime has for providers only.
class ProviderCalls {
 private:
  Table table_;

 public:
  explicit ProviderCalls(Table table) : table_(table) {}

  Slot<0, OrtStatus*(OrtEpFactory*, const OrtHardwareDevice*, const OrtKeyValuePairs*,
                     const OrtKeyValuePairs*, OrtEpDevice**)>
      create_device{table_};
  Slot<2, OrtStatus*(OrtEpGraphSupportInfo*, const OrtNode* const*, std::size_t, const void*)>
      take_nodes{table_};
};

const Calls* calls = nullptr;
const ProviderCalls* provider_calls = nullptr;

std::atomic<int> strays{0}, alive{0}, runs{0};

/// The thread that made the first session of a provider.
class Owner {
 public:
  /// Notes whether we are called on another one.
  void check() {
    std::thread::id first{};
    const std::thread::id here = std::this_thread::get_id();
    if (!id_.compare_exchange_strong(first, here) && first != here) ++strays;
  }

 private:
  std::atomic<std::thread::id> id_{};
};

OrtStatus* refuse(const char* why) { return calls->create_status(1, why); }

float negate(float x) { return -x; }
float absolute(float x) { return std::fabs(x); }
float rectify(float x) { return x > 0 ? x : 0; }

struct Operator {
  const char* name;
  float (*unary)(float);  ///< null: Add
};
constexpr Operator operators[] = {
    {"Neg", negate}, {"Abs", absolute}, {"Relu", rectify}, {"Add", nullptr}};

const Operator* operator_of(const OrtNode* node) {
  const char* type = nullptr;
  if (calls->operator_type(node, &type) != nullptr) return nullptr;
  for (const Operator& known : operators)
    if (std::strcmp(known.name, type) == 0) return &known;
  return nullptr;
}

std::vector<const OrtNode*> nodes_of(const OrtGraph* graph) {
  std::size_t count = 0;
  if (calls->node_count(graph, &count) != nullptr) return {};
  std::vector<const OrtNode*> nodes(count);
  if (calls->nodes(graph, nodes.data(), count) != nullptr) return {};
  return nodes;
}

struct Tensor {
  const float* data = nullptr;
  std::vector<std::int64_t> shape;
  [[nodiscard]] std::size_t size() const {
    std::size_t size = 1;
    for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
    return size;
  }
};

Tensor read(OrtKernelContext* context, std::size_t index) {
  const OrtValue* value = nullptr;
  calls->input(context, index, &value);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  calls->shape(value, &info);
  std::size_t rank = 0;
  calls->rank(info, &rank);
  Tensor tensor;
  tensor.shape.resize(rank);
  calls->dimensions(info, tensor.shape.data(), rank);
  calls->release_shape(info);
  void* data = nullptr;
  calls->data(const_cast<OrtValue*>(value), &data);
  tensor.data = static_cast<const float*>(data);
  return tensor;
}

float* write(OrtKernelContext* context, const Tensor& like) {
  OrtValue* value = nullptr;
  calls->output(context, 0, like.shape.data(), like.shape.size(), &value);
  void* data = nullptr;
  calls->data(value, &data);
  return static_cast<float*>(data);
}

}  // namespace

/// A node that is computed; ONNX Runtime's OrtNodeComputeInfo.
struct ComputeInfo {
  std::uint32_t version = interface_version;
  OrtStatus* (*create_state)(ComputeInfo*, void*, void**) = [](ComputeInfo*, void*, void** state) {
    *state = nullptr;
    return static_cast<OrtStatus*>(nullptr);
  };
  OrtStatus* (*compute)(ComputeInfo*, void*, OrtKernelContext*) = nullptr;
  void (*release_state)(ComputeInfo*, void*) = [](ComputeInfo*, void*) {};

  const Operator* kind = nullptr;
  OrtEpFactory* factory = nullptr;
};

/// A session's provider, as ONNX Runtime lays it out; what is null is optional.
struct OrtEp {
  std::uint32_t version = interface_version;
  const char* (*name)(const OrtEp*) = nullptr;
  OrtStatus* (*capability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*) = nullptr;
  OrtStatus* (*compile)(OrtEp*, const OrtGraph**, const OrtNode**, std::size_t, ComputeInfo**,
                        OrtNode**) = nullptr;
  void (*release_computes)(OrtEp*, ComputeInfo**, std::size_t) = nullptr;
  void* optional[24] = {};

  OrtEpFactory* factory = nullptr;
};

struct OrtEpFactory {
  std::uint32_t version = interface_version;
  const char* (*name)(const OrtEpFactory*) = nullptr;
  const char* (*vendor)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*devices)(OrtEpFactory*, const OrtHardwareDevice* const*, std::size_t, OrtEpDevice**,
                        std::size_t, std::size_t*) = nullptr;
  OrtStatus* (*create)(OrtEpFactory*, const OrtHardwareDevice* const*,
                       const OrtKeyValuePairs* const*, std::size_t, const OrtSessionOptions*,
                       const OrtLogger*, OrtEp**) = nullptr;
  void (*release)(OrtEpFactory*, OrtEp*) = nullptr;
  std::uint32_t (*vendor_id)(const OrtEpFactory*) = nullptr;
  const char* (*provider_version)(const OrtEpFactory*) = nullptr;
  void* validate = nullptr;
  OrtStatus* (*create_allocator)(OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                 OrtAllocator**) = nullptr;
  void (*release_allocator)(OrtEpFactory*, OrtAllocator*) = nullptr;
  OrtStatus* (*create_transfer)(OrtEpFactory*, void**) = nullptr;
  bool (*has_streams)(const OrtEpFactory*) = nullptr;
  void* optional[24] = {};

  std::string registered;
  Owner owner;
};

namespace {

OrtStatus* compute(ComputeInfo* self, void*, OrtKernelContext* context) {
  self->factory->owner.check();
  ++runs;
  if (self->factory->registered == "failing") return refuse("the fake provider fails");
  const Tensor x = read(context, 0);
  std::size_t inputs = 0;
  calls->input_count(context, &inputs);
  const Tensor y = inputs == 2 ? read(context, 1) : x;  // one, too, if a value is added to itself
  if (x.shape != y.shape) return refuse("the fake provider does not broadcast");
  float* const out = write(context, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = self->kind->unary == nullptr ? x.data[i] + y.data[i] : self->kind->unary(x.data[i]);
  return nullptr;
}

OrtStatus* take(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  self->factory->owner.check();
  for (const OrtNode* node : nodes_of(graph)) {
    if (operator_of(node) == nullptr) continue;
    if (OrtStatus* status = provider_calls->take_nodes(info, &node, 1, nullptr)) return status;
  }
  return nullptr;
}

OrtStatus* compile(OrtEp* self, const OrtGraph** graphs, const OrtNode**, std::size_t count,
                   ComputeInfo** computes, OrtNode**) {
  self->factory->owner.check();
  for (std::size_t i = 0; i < count; ++i) {
    computes[i] = new ComputeInfo;
    computes[i]->compute = compute;
    computes[i]->kind = operator_of(nodes_of(graphs[i]).at(0));
    if (self->factory->registered == "wrong" && computes[i]->kind == &operators[0])
      computes[i]->kind = &operators[1];
    computes[i]->factory = self->factory;
  }
  return nullptr;
}

OrtEp* make_provider(OrtEpFactory* factory) {
  auto* made = new OrtEp;
  made->name = [](const OrtEp*) { return "FakeExecutionProvider"; };
  made->capability = take;
  made->compile = compile;
  made->release_computes = [](OrtEp* self, ComputeInfo** computes, std::size_t count) {
    self->factory->owner.check();
    for (std::size_t i = 0; i < count; ++i) delete computes[i];
  };
  made->factory = factory;
  return made;
}

OrtStatus* list_devices(OrtEpFactory* self, const OrtHardwareDevice* const* hardware,
                        std::size_t count, OrtEpDevice** devices, std::size_t room,
                        std::size_t* listed) {
  *listed = 0;
  if (self->registered == "idle" || count == 0 || room == 0) return nullptr;
  *listed = 1;
  return provider_calls->create_device(self, hardware[0], nullptr, nullptr, &devices[0]);
}

OrtStatus* create(OrtEpFactory* self, const OrtHardwareDevice* const*,
                  const OrtKeyValuePairs* const*, std::size_t, const OrtSessionOptions*,
                  const OrtLogger*, OrtEp** made) {
  self->owner.check();
  ++alive;
  *made = make_provider(self);
  return nullptr;
}

OrtEpFactory* make_factory(const char* registered) {
  auto* made = new OrtEpFactory;
  made->registered = registered;
  made->name = [](const OrtEpFactory*) { return "FakeExecutionProvider"; };
  made->vendor = [](const OrtEpFactory*) { return "Surplus"; };
  made->devices = list_devices;
  made->create = create;
  made->release = [](OrtEpFactory* self, OrtEp* provider) {
    self->owner.check();
    --alive;
    delete provider;
  };
  made->vendor_id = [](const OrtEpFactory*) { return std::uint32_t{0}; };
  made->provider_version = [](const OrtEpFactory*) { return "0.1.0"; };
  made->create_allocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                              OrtAllocator** none) {
    *none = nullptr;
    return static_cast<OrtStatus*>(nullptr);
  };
  made->release_allocator = [](OrtEpFactory*, OrtAllocator*) {};
  made->create_transfer = [](OrtEpFactory*, void** none) {
    *none = nullptr;
    return static_cast<OrtStatus*>(nullptr);
  };
  made->has_streams = [](const OrtEpFactory*) { return false; };
  return made;
}

}  // namespace

extern "C" {

OrtStatus* CreateEpFactories(const char* registered, const ApiBase* base, const OrtLogger*,
                             OrtEpFactory** factories, std::size_t, std::size_t* count) {
  if (calls == nullptr) {
    calls = new Calls(base->get_api(engine::ort::kApiVersion));
    provider_calls = new ProviderCalls(calls->provider_calls());
  }
  *count = 0;
  if (std::strcmp(registered, "broken") == 0) return refuse("the fake provider is broken");
  factories[0] = make_factory(registered);
  *count = 1;
  return nullptr;
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete factory;
  return nullptr;
}

/// Calls from a wrong thread; sessions that live; nodes that were computed.
int fakePluginStrays() { return strays.load(); }
int fakePluginAlive() { return alive.load(); }
int fakePluginRuns() { return runs.load(); }
}
