// Numbers of JSON documents, read and written without an object for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

/// The numbers of one array, in their order: as integers where all of them are.
struct JsonNumbers {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  [[nodiscard]] std::size_t count() const noexcept { return integers.size() + reals.size(); }
};

/// A document whose arrays of numbers were taken out.
struct JsonParts {
  std::string rest;  ///< with a text, `mark` and its place in `arrays`, for each
  std::vector<JsonNumbers> arrays;
};

/// Takes out the values of members "data" that are arrays of numbers alone, of `least` at least,
/// nested as a tensor is: as many in each, 32 deep at most. All others stay, those with integers
/// beyond 64 bits or numbers beyond a double as well; whether the rest is JSON is not looked at.
/// Numbers are the nearest doubles. Linear in the document's length; twice through it.
///
/// `mark`: what no document can hold by accident, without what JSON escapes.
[[nodiscard]] JsonParts take_numbers(std::string_view document, std::string_view mark,
                                     std::size_t least);

/// The array of numbers alone that begins at `at`, as those are, and goes behind it; nothing where
/// what stands there is none.
[[nodiscard]] std::optional<JsonNumbers> numbers_at(std::string_view document, std::size_t& at);

/// The numbers as a JSON array: the shortest decimals that read as the same doubles, and with a
/// point or an exponent. They must be finite.
[[nodiscard]] std::string json_of(std::span<const double> numbers);
[[nodiscard]] std::string json_of(std::span<const std::int64_t> numbers);
[[nodiscard]] std::string json_of(std::span<const std::uint64_t> numbers);

}  // namespace engine
