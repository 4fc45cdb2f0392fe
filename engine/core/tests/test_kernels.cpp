// Segments with a library's kernels, against a fake OpenVINO.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>

#include "fake_openvino.hpp"
#include "kernels/library.hpp"
#include "kernels/numbers.hpp"
#include "kernels/openvino/blob.hpp"
#include "kernels/openvino/kernel.hpp"
#include "kernels/openvino/mark.hpp"
#include "kernels/openvino/sizes_seen.hpp"
#include "kernels/openvino/unsized_output.hpp"
#include "ort_fixtures.hpp"
#include "test.hpp"

namespace kernels_tests {

using namespace engine;
using namespace engine::test;
using kernels::KernelLibrary;
using kernels::KernelParams;
using kernels::LibraryKernel;

namespace {

constexpr std::size_t size = 4;

std::size_t count(const char* what) {
  static void* const library = dlopen(FAKE_OPENVINO_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  static auto* const ask =
      reinterpret_cast<decltype(fakeOpenVinoCount)*>(dlsym(library, "fakeOpenVinoCount"));
  return ask(what);
}

/// What a test can see of ONNX Runtime's kernel: it answers -5.
struct Otherwise final : Kernel {
  void execute(std::span<const ValuePtr>, std::span<ValuePtr> outputs,
               CancelToken*) const override {
    outputs[0] = tensor(-5, size);
  }
};

/// A fresh library and a file of a model; both are gone at the end.
struct Setting {
  FakeOrt ort;
  Folder folder;
  std::size_t objects = count("objects");
  std::size_t violations = count("violations");
  std::size_t runs = count("runs");
  std::size_t before = count("elsewhere");
  std::unique_ptr<KernelLibrary> library = kernels::openvino::open(FAKE_OPENVINO_LIBRARY);

  [[nodiscard]] KernelParams params(const std::string& words, int copies = 1) const {
    return {.model_path = folder.write("model", words),
            .compiled_path = "",
            .input_names = {"x"},
            .output_names = {"y"},
            .inputs = {{ort::kInt64, {size}}},
            .output_types = {ort::kInt64},
            .width = 2,
            .copies = copies,
            .otherwise = [] { return std::make_shared<Otherwise>(); }};
  }
  [[nodiscard]] std::shared_ptr<const LibraryKernel> kernel(const std::string& words,
                                                            int copies = 1) const {
    return library->make(params(words, copies));
  }
  /// Why a model is not taken.
  [[nodiscard]] std::string refusal(const KernelParams& params) const {
    try {
      static_cast<void>(library->make(params));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  /// How many runs the library has begun in this test.
  [[nodiscard]] std::size_t begun() const { return count("runs") - runs; }
  /// How many of them in another thread than the one that asked.
  [[nodiscard]] std::size_t elsewhere() const { return count("elsewhere") - before; }
  /// That nothing of it is left, and no rule was broken.
  void check_clean() {
    library.reset();
    CHECK(count("objects") == objects);
    CHECK(count("violations") == violations);
  }
};

std::int64_t answer(const Kernel& kernel, ValuePtr input) {
  const std::vector<ValuePtr> inputs{std::move(input)};
  std::vector<ValuePtr> outputs(1);
  kernel.execute(inputs, outputs, nullptr);
  return numbers_in(outputs[0]).first;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(a_librarys_kernel_answers_queries_of_the_sizes_that_it_was_compiled_for) {
  Setting setting;
  {
    const auto kernel = setting.kernel("plain");
    CHECK(count("threads") == 2);
    CHECK(count("float32") == 1);
    for (int i = 0; i < 3; ++i) CHECK(answer(*kernel, tensor(i, size)) == i + 1);
    CHECK(setting.begun() == 3);
    CHECK(setting.library->failure().empty());
    CHECK(setting.library->version() == "2026.0.0-fake");
  }
  setting.check_clean();
}

TEST(another_precision_is_what_was_asked_for) {
  Setting setting;
  {
    KernelParams params = setting.params("plain");
    params.precision = "bf16";
    const auto kernel = setting.library->make(params);
    CHECK(count("float32") == 0);
    CHECK(answer(*kernel, tensor(1, size)) == 2);
    static_cast<void>(setting.kernel("plain"));
    CHECK(count("float32") == 1);
  }
  setting.check_clean();
}

TEST(what_a_library_was_not_compiled_for_goes_to_onnx_runtime) {
  Setting setting;
  {
    const auto kernel = setting.kernel("plain");
    CHECK(answer(*kernel, tensor(1, size + 1)) == -5);
    CHECK(answer(*kernel, nullptr) == -5);
    CHECK(answer(*kernel, tensor(std::int64_t{1} << 40, size)) == -5);
    CHECK(answer(*kernel, tensor(-(std::int64_t{1} << 31) - 1, size)) == -5);
    CHECK(setting.begun() == 0);
    CHECK(answer(*kernel, tensor((std::int64_t{1} << 31) - 1, size)) == std::int64_t{1} << 31);
    CHECK(setting.library->failure().empty());
  }
  setting.check_clean();
}

TEST(a_number_that_is_not_usual_is_found_wherever_it_stands) {
  using kernels::are_usual;
  const auto finds = [](int elem_type, auto usual, auto unusual) {
    for (const std::size_t count : {0, 1, 3, 4, 17, 1025, 5000}) {
      std::vector<decltype(usual)> numbers(count, usual);
      const std::size_t bytes = count * sizeof usual;
      if (!are_usual(elem_type, numbers.data(), bytes)) return false;
      for (std::size_t at = 0; at < count; at += 1 + at / 7) {
        numbers[at] = unusual;
        if (are_usual(elem_type, numbers.data(), bytes)) return false;
        numbers[at] = usual;
      }
    }
    return true;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float usual : {0.F, -0.F, 1e-45F, std::numeric_limits<float>::lowest()}) {
    CHECK(finds(ort::kFloat, usual, infinity));
    CHECK(finds(ort::kFloat, usual, -infinity));
    CHECK(finds(ort::kFloat, usual, -std::numeric_limits<float>::quiet_NaN()));
    CHECK(finds(ort::kFloat, usual, std::numeric_limits<float>::signaling_NaN()));
  }
  CHECK(finds(ort::kDouble, -1.7e308, -std::numeric_limits<double>::infinity()));
  CHECK(finds(ort::kFloat16, std::uint16_t{0xfbff}, std::uint16_t{0x7c00}));
  CHECK(finds(ort::kFloat16, std::uint16_t{0x0001}, std::uint16_t{0xfe00}));
  CHECK(finds(ort::kBfloat16, std::uint16_t{0x7f7f}, std::uint16_t{0xff80}));
  CHECK(finds(ort::kInt64, std::int64_t{-1} << 31, (std::int64_t{-1} << 31) - 1));
  CHECK(finds(ort::kInt64, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31));
  CHECK(finds(ort::kUint64, std::uint64_t{0x7fff'ffff}, ~std::uint64_t{0}));
  CHECK(finds(ort::kUint32, std::uint32_t{0x7fff'ffff}, std::uint32_t{0x8000'0000}));
  const std::uint8_t all_ones = 255;
  CHECK(are_usual(ort::kUint8, &all_ones, 1));
}

TEST(to_learn_what_becomes_of_them_a_library_is_given_any_numbers) {
  Setting setting;
  {
    KernelParams params = setting.params("plain");
    params.takes_any_number = true;
    const auto kernel = setting.library->make(params);
    CHECK(answer(*kernel, tensor(std::int64_t{1} << 40, size)) == (std::int64_t{1} << 40) + 1);
  }
  setting.check_clean();
}

TEST(what_was_compiled_is_dropped_where_most_queries_have_other_sizes) {
  using kernels::openvino::SizesSeen;
  Setting setting;
  {
    const auto kernel = setting.kernel("plain");
    const std::size_t held = count("objects");
    const auto ask = [&](std::uint64_t others) {
      for (std::uint64_t i = 0; i < SizesSeen::window; ++i) {
        const bool is_other = i < others;
        CHECK(answer(*kernel, tensor(1, is_other ? size + 1 : size)) == (is_other ? -5 : 2));
      }
    };
    ask(SizesSeen::window / 2);
    CHECK(!kernel->is_dropped() && count("objects") == held);
    for (std::uint64_t i = 0; i < SizesSeen::window; ++i)
      CHECK(answer(*kernel, tensor(1, size + 1)) == -5);
    CHECK(kernel->is_dropped() && count("objects") < held);
    CHECK(answer(*kernel, tensor(1, size)) == -5);
    CHECK(setting.library->failure().empty());
    bool refused = false;
    try {
      kernel->export_to("/nowhere");
    } catch (const std::runtime_error&) {
      refused = true;
    }
    CHECK(refused);
  }
  setting.check_clean();
}

TEST(what_is_dropped_while_others_compute_is_freed_when_they_end) {
  using kernels::openvino::SizesSeen;
  Setting setting;
  {
    const auto kernel = setting.kernel("slow", lanes);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < lanes; ++caller)
      callers.emplace_back([&, caller] {
        for (int i = 0; i < 8; ++i) {
          const std::int64_t got = answer(*kernel, tensor(caller, size));
          if (got != caller + 1 && got != -5) ++wrong;
        }
      });
    for (std::uint64_t i = 0; i < 4 * SizesSeen::window; ++i)
      CHECK(answer(*kernel, tensor(1, size + 1)) == -5);
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0 && kernel->is_dropped());
  }
  setting.check_clean();
}

TEST(outputs_whose_sizes_the_data_decide_are_taken_over) {
  Setting setting;
  {
    const auto kernel = setting.kernel("dynamic");
    CHECK(answer(*kernel, tensor(6, size)) == 7);
  }
  setting.check_clean();
}

TEST(outputs_of_any_size_are_computed_in_the_thread_that_asks) {
  Setting setting;
  {
    const auto kernel = setting.kernel("counting");
    // Up and down, to none and through the shape that is marked; what one holds outlives a run.
    std::vector<ValuePtr> held;
    const std::vector<std::int64_t> counts{3, 0, 100, 1, 1, 8, 0, 7, 1000, 2};
    for (const std::int64_t rows : counts) {
      const std::vector<ValuePtr> inputs{tensor(rows, size)};
      std::vector<ValuePtr> outputs(1);
      kernel->execute(inputs, outputs, nullptr);
      held.push_back(outputs[0]);
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto rows = static_cast<std::size_t>(counts[i]);
      CHECK(numbers_in(held[i]) == std::pair(rows == 0 ? 0 : counts[i] + 1, rows));
      CHECK(static_cast<const ort::OnnxValue&>(*held[i]).shape() == std::vector{counts[i]});
    }
    CHECK(setting.begun() == counts.size());
    CHECK(setting.elsewhere() == 0);
    CHECK(setting.library->failure().empty());
  }
  setting.check_clean();
}

TEST(a_single_number_of_32_bits_holds_a_mark) {
  for (const char* words : {"narrow", "narrow silent"}) {
    Setting setting;
    {
      KernelParams params = setting.params(words);
      params.inputs[0].shape = {1};
      params.output_types = {ort::kInt32};
      const auto kernel = setting.library->make(params);
      const std::vector<ValuePtr> inputs{tensor(6, 1)};
      std::vector<ValuePtr> outputs(1);
      kernel->execute(inputs, outputs, nullptr);
      const bool silent = contains(words, "silent");
      const auto& made = static_cast<const ort::OnnxValue&>(*outputs[0]);
      CHECK(*static_cast<const std::int32_t*>(made.data()) == (silent ? -5 : 7));
      CHECK(contains(setting.library->failure(), "without an answer") == silent);
      CHECK(setting.begun() == 1 && setting.elsewhere() == 0);
    }
    setting.check_clean();
  }
}

TEST(a_mark_takes_no_more_than_there_is) {
  using namespace kernels::openvino;
  for (const std::size_t bytes : {4, 7, 8, 100}) {
    std::string data(bytes + 8, 'x');
    CHECK(holds_mark(bytes) && !has_mark(data.data(), bytes));
    put_mark(data.data(), bytes);
    CHECK(has_mark(data.data(), bytes));
    CHECK(data.substr(bytes) == "xxxxxxxx");
    data[0] = 'x';
    CHECK(!has_mark(data.data(), bytes));
  }
  CHECK(!holds_mark(3));
}

TEST(outputs_that_hold_no_mark_are_computed_in_a_thread_of_the_library) {
  const std::vector<std::pair<const char*, std::vector<std::int64_t>>> cases{
      {"unranked", {size}},  // no shape to mark
      {"rows", {3, 0}}};     // no bytes to mark
  for (const auto& [words, shape] : cases) {
    Setting setting;
    {
      const auto kernel = setting.kernel(words);
      const std::vector<ValuePtr> inputs{tensor(3, size)};
      for (int i = 0; i < 2; ++i) {
        std::vector<ValuePtr> outputs(1);
        kernel->execute(inputs, outputs, nullptr);
        CHECK(static_cast<const ort::OnnxValue&>(*outputs[0]).shape() == shape);
      }
      CHECK(setting.elsewhere() == 2);
    }
    setting.check_clean();
  }
}

TEST(shapes_to_mark_are_the_smallest_that_hold_one) {
  using kernels::openvino::marking_shape;
  using Shape = std::vector<std::int64_t>;
  CHECK(*marking_shape(Shape{-1}, ort::kInt64) == Shape{1});
  CHECK(*marking_shape(Shape{-1}, ort::kBool) == Shape{8});
  CHECK((*marking_shape(Shape{-1, -1}, ort::kFloat) == Shape{2, 1}));
  CHECK((*marking_shape(Shape{3, -1, 1}, ort::kBool) == Shape{3, 3, 1}));
  CHECK((*marking_shape(Shape{1, -1, 4}, ort::kFloat) == Shape{1, 1, 4}));
  CHECK(!marking_shape(Shape{-1, 0}, ort::kInt64));
  CHECK(!marking_shape(Shape{4}, ort::kInt64));
}

TEST(a_library_that_fails_once_is_not_used_any_more) {
  for (const char* words :
       {"fails", "silent", "fails dynamic", "silent counting", "fails unranked"}) {
    Setting setting;
    {
      const auto kernel = setting.kernel(words);
      const auto other = setting.kernel("plain");
      CHECK(answer(*other, tensor(1, size)) == 2);
      CHECK(answer(*kernel, tensor(1, size)) == -5);
      const std::string said = setting.library->failure();
      CHECK(contains(said, contains(words, "silent") ? "without an answer" : "meant to fail"));
      CHECK(answer(*kernel, tensor(1, size)) == -5);
      CHECK(answer(*other, tensor(1, size)) == -5);
      CHECK(setting.begun() == 2);
    }
    setting.check_clean();
  }
}

TEST(models_that_a_library_does_not_take_are_refused_with_its_words) {
  Setting setting;
  CHECK(contains(setting.refusal(setting.params("refused")), "meant to be refused"));
  CHECK(contains(setting.refusal(setting.params("uncompilable")), "not meant to be compiled"));
  CHECK(contains(setting.refusal(setting.params("halves")), "'x' takes 4 bytes, in the model 8"));
  KernelParams other = setting.params("plain");
  other.output_names = {"z"};
  CHECK(contains(setting.refusal(other), "no such output"));
  other = setting.params("plain");
  other.compiled_path = other.model_path;
  CHECK(contains(setting.refusal(other), "no compiled model"));
  other.compiled_path = "/nowhere";
  CHECK(contains(setting.refusal(other), "/nowhere"));
  setting.check_clean();
}

TEST(what_was_compiled_is_exported_and_opened_again) {
  Setting setting;
  {
    const std::string path = setting.folder.write("blob", "");
    setting.kernel("plain")->export_to(path);
    KernelParams params = setting.params("plain");
    params.compiled_path = path;
    const std::size_t compiled = count("compiled");
    const auto kernel = setting.library->make(params);
    CHECK(answer(*kernel, tensor(1, size)) == 2);
    CHECK(count("compiled") == compiled);
  }
  setting.check_clean();
}

TEST(operators_are_timed_where_that_was_asked_for) {
  Setting setting;
  {
    KernelParams params = setting.params("plain");
    params.times_operators = true;
    const auto kernel = setting.library->make(params);
    CHECK(answer(*kernel, tensor(1, size)) == 2);
    const auto times = kernel->operator_times();
    CHECK(times.size() == 2 && times[0].name == "add" && times[0].ns == 7000 && times[1].ns == 0);
    bool refused = false;
    try {
      static_cast<void>(setting.kernel("plain")->operator_times());
    } catch (const std::runtime_error&) {
      refused = true;
    }
    CHECK(refused);
  }
  setting.check_clean();
}

TEST(weights_of_what_was_compiled_begin_at_a_cache_line_and_are_held_once) {
  using kernels::openvino::Blob;
  const Folder folder;
  std::string head(91, 'h');
  const std::array<std::uint64_t, 6> parts{48, 5, 53, 1000, 1053, 7};
  head.append(reinterpret_cast<const char*>(parts.data()), sizeof parts);
  const std::string all = head + "first" + std::string(1000, 'w') + "a model";
  const std::string path = folder.write("blob", all);
  const auto blob = Blob::open(path);
  CHECK(std::string(blob->bytes().data(), blob->bytes().size()) == all);
  CHECK(reinterpret_cast<std::uintptr_t>(blob->bytes().data() + 91 + 53) % 64 == 0);
  CHECK(Blob::open(path) == blob);
  const auto other = Blob::open(folder.write("other", "short"));
  CHECK(std::string(other->bytes().data(), other->bytes().size()) == "short");
  CHECK(other != blob);
}

TEST(runs_at_once_have_a_copy_each_as_far_as_there_may_be_copies) {
  for (const int copies : {1, lanes}) {
    Setting setting;
    {
      const std::size_t compiled = count("compiled");
      const auto kernel = setting.kernel("slow", copies);
      std::atomic<int> wrong = 0;
      std::vector<std::thread> callers;
      for (int caller = 0; caller < lanes; ++caller)
        callers.emplace_back([&, caller] {
          for (int i = 0; i < 4; ++i)
            if (answer(*kernel, tensor(caller, size)) != caller + 1) ++wrong;
        });
      for (std::thread& caller : callers) caller.join();
      CHECK(wrong == 0);
      const std::size_t opened = count("compiled") - compiled;
      CHECK(opened <= static_cast<std::size_t>(copies));
      CHECK(lanes == 1 || copies == 1 || opened > 1);
    }
    setting.check_clean();
  }
}

TEST(libraries_are_opened_once_by_name) {
  const auto error = [](const std::string& name, const std::string& path) -> std::string {
    try {
      static_cast<void>(kernels::open_library(name, path));
    } catch (const std::exception& failure) {
      return failure.what();
    }
    return "";
  };
  CHECK(contains(error("nobodys", FAKE_OPENVINO_LIBRARY), "no library of kernels 'nobodys'"));
  CHECK(contains(error("openvino", FAKE_ORT_LIBRARY), "lacks the function") ||
        contains(error("openvino", FAKE_ORT_LIBRARY), "already loaded"));
  KernelLibrary& library = kernels::open_library("openvino", FAKE_OPENVINO_LIBRARY);
  CHECK(&library == &kernels::get_library("openvino"));
  CHECK(contains(error("openvino", "/elsewhere"), "already loaded"));
}

}  // namespace kernels_tests
