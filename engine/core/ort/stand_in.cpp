#include "ort/stand_in.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "ort/types.hpp"
#include "ort/value.hpp"
#include "ort/wire.hpp"
#include "scheduler/status_error.hpp"

namespace engine::ort {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kUnasked(500);
constexpr milliseconds kAfterAnswer(100);  // a program of one query ends meanwhile

bool is_plain(const std::vector<ValueInfo>& infos) {
  return std::ranges::all_of(infos, [](const ValueInfo& info) {
    return info.kind == "tensor" && element_bits(info.elem_type) > 0;
  });
}

std::vector<ValuePtr> answered(const InferenceSession& session, std::span<const ValuePtr> inputs) {
  std::vector<const char*> input_names;
  std::vector<const OrtValue*> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    input_names.push_back(session.inputs()[i].name.c_str());
    values.push_back(unwrap(inputs[i]));
  }
  std::vector<const char*> output_names;
  for (const ValueInfo& info : session.outputs()) output_names.push_back(info.name.c_str());
  std::vector<OrtValue*> results(output_names.size());
  check(session.run(input_names, values.data(), output_names, results.data(), nullptr));
  std::vector<ValuePtr> outputs;
  for (OrtValue* result : results) outputs.push_back(wrap_output(result, false));
  return outputs;
}

void answer_one(const InferenceSession& session, Wire& wire) {
  std::vector<ValuePtr> inputs(session.inputs().size());
  for (ValuePtr& input : inputs) input = wire.read_tensor();
  std::vector<ValuePtr> outputs;
  std::string error;
  int code = 0;
  try {
    outputs = answered(session, inputs);
  } catch (const StatusError& failure) {
    error = failure.what();
    code = failure.code();
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  wire.write(error);
  if (!error.empty()) wire.write(std::to_string(code));
  for (const ValuePtr& output : outputs) wire.write(output);
}

class StandInKernel;

/// Those whose threads may open a session. The process must not end while one does.
struct Openers {
  std::mutex mutex;
  std::set<StandInKernel*> all;
  const pid_t owner = ::getpid();
};

Openers& openers() {
  static Openers* const instance = new Openers;
  return *instance;
}

class StandInKernel final : public Kernel {
 public:
  StandInKernel(std::shared_ptr<Wire> wire, StandIn::Open open)
      : open_(std::move(open)), wire_(std::move(wire)), thread_([this] { open_in_time(); }) {
    static const int registered = std::atexit(&end_all);
    static_cast<void>(registered);
    const std::lock_guard lock(openers().mutex);
    openers().all.insert(this);
  }

  ~StandInKernel() override {
    {
      const std::lock_guard lock(openers().mutex);
      openers().all.erase(this);
    }
    end();
  }

  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken* token) const override {
    const Kernel* own = own_.load(std::memory_order_acquire);
    if (own == nullptr && asked_other(inputs, outputs, token)) return;
    (own == nullptr ? opened() : *own).execute(inputs, outputs, token);
  }

 private:
  /// False where it answers another query, or is not there any more.
  bool asked_other(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
                   CancelToken* token) const {
    const std::unique_lock turn(asking_, std::try_to_lock);
    const std::shared_ptr<Wire> wire = turn ? current() : nullptr;
    if (!wire) return false;
    std::string error;
    int code = 0;
    try {
      wire->is_over = [token] { return token != nullptr && token->is_cancelled(); };
      for (const ValuePtr& input : inputs) wire->write(input);
      error = wire->read_text();
      if (!error.empty()) code = std::stoi(wire->read_text());
      for (std::size_t i = 0; error.empty() && i < outputs.size(); ++i)
        outputs[i] = wire->read_tensor();
    } catch (const std::exception& failure) {  // who knows what the wire holds now
      let_go();
      throw std::runtime_error(std::string("the process that tried the model did not answer: ") +
                               failure.what());
    }
    note_answer();
    if (!error.empty()) throw StatusError(code, error);
    return true;
  }

  const Kernel& opened() const {
    const std::lock_guard lock(opening_);
    if (!kept_) {
      kept_ = open_();
      own_.store(kept_.get(), std::memory_order_release);
      let_go();
    }
    return *kept_;
  }

  void open_in_time() {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kUnasked, [this] { return has_answered_ || is_over_ || !wire_; });
      if (wire_) wake_.wait_for(lock, kAfterAnswer, [this] { return is_over_ || !wire_; });
      if (is_over_) return;
    }
    try {
      opened();
    } catch (const std::exception&) {
      // The next query says why.
    }
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  static void end_all() {
    if (openers().owner != ::getpid()) return;  // a fork has the threads of none
    const std::lock_guard lock(openers().mutex);
    for (StandInKernel* kernel : openers().all) kernel->end();
  }

  std::shared_ptr<Wire> current() const {
    const std::lock_guard lock(mutex_);
    return wire_;
  }

  void let_go() const {
    {
      const std::lock_guard lock(mutex_);
      wire_.reset();
    }
    wake_.notify_all();
  }

  void note_answer() const {
    {
      const std::lock_guard lock(mutex_);
      has_answered_ = true;
    }
    wake_.notify_all();
  }

  const StandIn::Open open_;
  mutable std::mutex asking_;  // held while the child answers
  mutable std::mutex opening_;
  mutable std::shared_ptr<const Kernel> kept_;  // by opening_
  mutable std::atomic<const Kernel*> own_{nullptr};
  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable wake_;
  mutable std::shared_ptr<Wire> wire_;
  mutable bool has_answered_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace

Declared declared_by(const InferenceSession& session) {
  return {session.inputs(), session.outputs(), !session.overridable().empty()};
}

void stand_in(const InferenceSession& session, int descriptor) {
  Wire wire(descriptor);
  const Declared declared = declared_by(session);
  try {
    wire.write(declared.inputs);
    wire.write(declared.outputs);
    wire.write(std::int64_t{declared.has_defaults});
    while (true) answer_one(session, wire);
  } catch (const std::runtime_error&) {
    // Nobody asks any more.
  }
}

StandIn::StandIn(int descriptor) : wire_(std::make_shared<Wire>(descriptor)) {
  declared_.inputs = wire_->read_infos();
  declared_.outputs = wire_->read_infos();
  declared_.has_defaults = wire_->read_number() != 0;
}

std::shared_ptr<const Kernel> StandIn::kernel(Open open) {
  auto wire = std::exchange(wire_, nullptr);
  if (!is_plain(declared_.inputs) || !is_plain(declared_.outputs)) wire.reset();
  return std::make_shared<const StandInKernel>(std::move(wire), std::move(open));
}

}  // namespace engine::ort
