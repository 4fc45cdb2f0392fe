// Answers that are kept: which are the same, which go, and many threads at once.
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "frontend/answer_cache.hpp"
#include "frontend/answer_key.hpp"
#include "test.hpp"

namespace answer_cache_tests {

using namespace engine::frontend;

namespace {

constexpr std::uint64_t load = 7;

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A query with one input, whose content the caller keeps.
AnswerKey query(std::string_view content, std::uint64_t of = load) {
  return key_of(of, {{"x", "INT8", {static_cast<std::int64_t>(content.size())}, bytes_of(content)}},
                {"y"});
}

std::vector<TensorView> answer(std::string_view content) {
  return {{"y", "INT8", {static_cast<std::int64_t>(content.size())}, bytes_of(content)}};
}

/// The content of what is kept for it; "none" if nothing is.
std::string found(AnswerCache& cache, const AnswerKey& key) {
  const KeptAnswerPtr kept = cache.find(key);
  if (kept == nullptr) return "none";
  CHECK(kept->size() == 1 && kept->front().name == "y" && kept->front().datatype == "INT8");
  return std::string(text_of(kept->front().content));
}

/// What such an answer takes.
std::size_t size_of(const AnswerKey& key, std::size_t answer_bytes) {
  return AnswerCache::entry_bytes + key.bytes() + answer_bytes;
}

}  // namespace

TEST(a_key_is_the_same_whatever_the_order_and_another_for_all_else) {
  const std::string one(8, 'a'), two(8, 'b'), both = one + two;
  const TensorView a{"a", "INT8", {8}, bytes_of(one)}, b{"b", "INT8", {8}, bytes_of(two)};
  const AnswerKey key = key_of(1, {a, b}, {"y", "z"});
  const AnswerKey same = key_of(1, {b, a}, {"z", "y"});
  CHECK(same.hash == key.hash && same.is(key.text()) && key.bytes() == key.text().size());
  const TensorView swapped_a{"a", "INT8", {8}, bytes_of(two)};
  const TensorView swapped_b{"b", "INT8", {8}, bytes_of(one)};
  const TensorView wide{"a", "INT8", {2, 4}, bytes_of(one)};
  const TensorView other_type{"a", "INT64", {1}, bytes_of(one)};
  const TensorView whole{"a", "INT8", {16}, bytes_of(both)}, none{"b", "INT8", {0}, {}};
  const AnswerKey others[] = {
      key_of(1, {a, b}, {"y"}),
      key_of(1, {a}, {"y", "z"}),
      key_of(1, {wide, b}, {"y", "z"}),
      key_of(1, {other_type, b}, {"y", "z"}),
      key_of(1, {whole, none}, {"y", "z"}),
      key_of(1, {swapped_a, swapped_b}, {"y", "z"}),
      key_of(1, {a, b}, {"yz"}),
      key_of(1, {a, b}, {"y", "zz"}),
  };
  for (const AnswerKey& other : others) CHECK(other.hash != key.hash && !other.is(key.text()));
}

TEST(an_answer_is_a_copy_for_the_model_that_gave_it) {
  AnswerCache cache(1 << 20);
  cache.begin(load);
  cache.begin(load + 1);
  std::string given = "kept";
  cache.keep(query("a"), answer(given));
  given = "else";
  CHECK(found(cache, query("a")) == "kept");
  CHECK(found(cache, query("b")) == "none" && found(cache, query("a", load + 1)) == "none");
  cache.keep(query("a"), answer("later"));
  CHECK(found(cache, query("a")) == "kept" && cache.count() == 1);
  CHECK(cache.held_bytes() == size_of(query("a"), 4));
}

TEST(queries_of_the_same_hash_are_not_taken_for_each_other) {
  AnswerCache cache(1 << 20);
  cache.begin(load);
  const AnswerKey one = query("a");
  AnswerKey two = query("b");
  two.hash = one.hash;
  cache.keep(one, answer("1"));
  CHECK(found(cache, two) == "none");
  cache.keep(two, answer("2"));
  CHECK(found(cache, two) == "2" && found(cache, one) == "none" && cache.count() == 1);
  CHECK(cache.held_bytes() == size_of(two, 1));
}

TEST(those_go_first_that_were_not_asked_for_longest) {
  const std::size_t each = size_of(query("a"), 1);
  AnswerCache cache(3 * each);
  cache.begin(load);
  for (const char* name : {"a", "b", "c"}) cache.keep(query(name), answer(name));
  CHECK(found(cache, query("a")) == "a" && cache.held_bytes() == 3 * each);
  cache.keep(query("d"), answer("d"));
  CHECK(found(cache, query("b")) == "none" && cache.held_bytes() == 3 * each);
  for (const char* name : {"a", "c", "d"}) CHECK(found(cache, query(name)) == name);
  cache.keep(query("e"), answer(std::string(each + 1, 'e')));  // in the place of two
  CHECK(cache.count() == 2 && found(cache, query("d")) == "d");
}

TEST(what_is_too_large_costs_no_other_its_place) {
  AnswerCache cache(2048);
  cache.begin(load);
  cache.keep(query("a"), answer("a"));
  cache.keep(query("b"), answer(std::string(2048, 'b')));
  const std::string large(2048, 'c');
  cache.keep(query(large), answer("c"));
  CHECK(found(cache, query("a")) == "a" && cache.count() == 1);
}

TEST(a_load_that_has_ended_keeps_nothing) {
  AnswerCache cache(1 << 20);
  cache.keep(query("a"), answer("too early"));
  CHECK(cache.count() == 0);
  for (const std::uint64_t of : {load, load + 1}) {
    cache.begin(of);
    cache.keep(query("a", of), answer("a"));
  }
  const KeptAnswerPtr still_sent = cache.find(query("a"));
  cache.end(load);
  CHECK(found(cache, query("a")) == "none" && found(cache, query("a", load + 1)) == "a");
  CHECK(cache.count() == 1 && cache.held_bytes() == size_of(query("a"), 1));
  cache.keep(query("a"), answer("too late"));
  CHECK(cache.count() == 1 && text_of(still_sent->front().content) == "a");
  cache.end(load + 1);
  cache.end(load + 1);
  CHECK(cache.count() == 0 && cache.held_bytes() == 0);
}

TEST(many_threads_find_what_was_kept_for_their_query) {
  constexpr std::uint64_t queries = 64, loads = 3;
  AnswerCache cache(32 * size_of(query("00"), 2));
  for (std::uint64_t of = 0; of < loads; ++of) cache.begin(of);
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < lanes; ++t)
    threads.emplace_back([&, t] {
      std::uint64_t number = static_cast<std::uint64_t>(t) + 1;
      for (int i = 0; i < 2'000; ++i) {
        number = number * 6'364'136'223'846'793'005 + 1;
        const std::uint64_t of = (number >> 40) % loads;
        const std::string text = std::to_string(10 + (number >> 50) % queries);
        const AnswerKey key = query(text, of);
        if (const KeptAnswerPtr kept = cache.find(key); kept == nullptr)
          cache.keep(key, answer(text));
        else if (text_of(kept->front().content) != text)
          wrong = true;
        if (i % 500 == 250 && of == 0) cache.end(0);
        if (i % 500 == 450) cache.begin(0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(!wrong && cache.count() <= 32);
  for (std::uint64_t of = 0; of < loads; ++of) cache.end(of);
  CHECK(cache.count() == 0 && cache.held_bytes() == 0);
}

}  // namespace answer_cache_tests
