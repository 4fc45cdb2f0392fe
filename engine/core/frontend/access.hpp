// Who may ask for what: tokens, clients' certificates, and what anybody may.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/grpc.hpp"

namespace engine::frontend {

/// SHA-256.
using Digest = std::array<unsigned char, 32>;

/// What is asked for, by its number. Those of the calls that are answered without Python; of others
/// Python knows (engine/serving/rights.py).
enum class Right : std::uint32_t { health = 0, infer = 1 };

/// Who asks.
struct Caller {
  std::string_view authorization;  ///< the header of that name; empty: none came
  /// Of the certificate that was shown; null: none was.
  const std::vector<std::string>* certificate_names = nullptr;
};

/// Rights of who has a token, or a certificate of some name.
struct Grant {
  std::string name;                 ///< whose they are, for people to read
  std::optional<Digest> token;      ///< of the secret
  std::string certificate;          ///< a name in it; empty: the token alone counts
  std::uint32_t rights = 0;         ///< a bit each, by their numbers
  std::vector<std::string> models;  ///< none: any
  std::int64_t ends_unix_s = 0;     ///< 0: never
};

/// Immutable, thread-safe. A check takes under a microsecond beside some 50 ns a grant, and as long
/// for a token that is nearly right as for any other.
class Access {
 public:
  struct Params {
    std::vector<std::string> rights;  ///< what they are called, by number
    std::uint32_t open = 0;           ///< those that anybody has
    std::vector<Grant> grants;
  };
  struct Verdict {
    Status status = Status::ok;
    std::string why = {};
    [[nodiscard]] bool is_yes() const noexcept { return status == Status::ok; }
  };

  /// Throws std::runtime_error where there are tokens and no OpenSSL to know them by.
  explicit Access(Params params);

  /// Whether somebody has a right, to a model where it is known which. An empty name is all models:
  /// who may ask of some only has no right to what tells of the others.
  [[nodiscard]] Verdict check(std::uint32_t right, const Caller& caller,
                              std::optional<std::string_view> model) const;
  [[nodiscard]] Verdict check(Right right, const Caller& caller,
                              std::optional<std::string_view> model) const {
    return check(static_cast<std::uint32_t>(right), caller, model);
  }

 private:
  const Params params_;
};

}  // namespace engine::frontend
