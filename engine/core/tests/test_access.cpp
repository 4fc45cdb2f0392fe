#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/access.hpp"
#include "test.hpp"

namespace access_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

constexpr std::uint32_t health = 1U << 0, infer = 1U << 1;

Digest digest_of(std::string_view hex) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] =
        static_cast<unsigned char>(std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  return digest;
}

/// SHA-256 of "abc", by FIPS 180-2, B.1.
const Digest abc = digest_of("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");

Access made(std::uint32_t open, std::vector<Grant> grants) {
  return Access({.rights = {"health", "infer"}, .open = open, .grants = std::move(grants)});
}

Status asked(const Access& access, Right right, std::string_view authorization,
             std::optional<std::string_view> model = std::nullopt) {
  return access.check(right, {.authorization = authorization}, model).status;
}

}  // namespace

TEST(what_is_open_needs_no_token_and_the_rest_nobody_has) {
  const Access access = made(health, {});
  CHECK(asked(access, Right::health, "") == Status::ok);
  CHECK(asked(access, Right::infer, "") == Status::permission_denied);
  CHECK(asked(access, Right::infer, "Bearer abc") == Status::permission_denied);
}

TEST(a_token_is_known_by_its_digest) {
  const Access access = made(0, {{.name = "a", .token = abc, .rights = infer}});
  CHECK(asked(access, Right::infer, "Bearer abc") == Status::ok);
  CHECK(asked(access, Right::infer, "bearer abc") == Status::ok);
  CHECK(asked(access, Right::health, "Bearer abc") == Status::permission_denied);
  for (const std::string_view wrong : {"", "abc", "Bearer", "Bearer ", "Bearer ab", "Bearer abc ",
                                       "Bearer  abc", "Basic abc", "Bearer abd"})
    CHECK(asked(access, Right::infer, wrong) == Status::unauthenticated);
  CHECK(asked(access, Right::infer, "Bearer " + std::string(5000, 'x')) == Status::unauthenticated);
}

TEST(a_token_ends) {
  const Access access = made(0, {{.name = "a", .token = abc, .rights = infer, .ends_unix_s = 1}});
  const Access::Verdict verdict =
      access.check(Right::infer, {.authorization = "Bearer abc"}, std::nullopt);
  CHECK(verdict.status == Status::unauthenticated && verdict.why == "the token has expired");
}

TEST(a_token_of_some_models_has_no_right_to_what_is_of_all) {
  const Access access =
      made(0, {{.name = "a", .token = abc, .rights = infer, .models = {"m", "n"}}});
  CHECK(asked(access, Right::infer, "Bearer abc") == Status::ok);  // which one is not known yet
  CHECK(asked(access, Right::infer, "Bearer abc", "n") == Status::ok);
  CHECK(asked(access, Right::infer, "Bearer abc", "o") == Status::permission_denied);
  CHECK(asked(access, Right::infer, "Bearer abc", "") == Status::permission_denied);
}

TEST(a_token_counts_before_a_certificate) {
  const Access access = made(0, {{.name = "shop", .certificate = "shop", .rights = infer},
                                 {.name = "a", .token = abc, .rights = health}});
  const std::vector<std::string> shop{"other", "shop"}, evil{"shop.evil", "sho"};
  const auto status = [&](std::string_view authorization, const std::vector<std::string>& names) {
    return access.check(Right::infer, {authorization, &names}, std::nullopt).status;
  };
  CHECK(status("", shop) == Status::ok);
  CHECK(status("", evil) == Status::unauthenticated);
  CHECK(status("Bearer abc", shop) == Status::permission_denied);
  CHECK(status("Bearer no", shop) == Status::unauthenticated);
}

}  // namespace access_tests
