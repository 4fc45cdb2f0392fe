#include "frontend/access.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bindings/front.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

namespace {

using frontend::Access;
using frontend::Digest;
using frontend::Grant;

using GrantSpec = std::tuple<std::string, nb::bytes, std::string, std::uint32_t,
                             std::vector<std::string>, std::int64_t>;

std::optional<Digest> digest_of(const nb::bytes& bytes) {
  if (bytes.size() == 0) return std::nullopt;
  Digest digest{};
  if (bytes.size() != digest.size())
    throw std::invalid_argument("a digest has 32 bytes, got " + std::to_string(bytes.size()));
  std::copy_n(reinterpret_cast<const unsigned char*>(bytes.c_str()), digest.size(), digest.begin());
  return digest;
}

Access::Params params_of(std::vector<std::string> rights, std::uint32_t open,
                         const std::vector<GrantSpec>& grants) {
  Access::Params params{.rights = std::move(rights), .open = open, .grants = {}};
  for (const auto& [name, digest, certificate, its_rights, models, ends_unix_s] : grants)
    params.grants.push_back({.name = name,
                             .token = digest_of(digest),
                             .certificate = certificate,
                             .rights = its_rights,
                             .models = models,
                             .ends_unix_s = ends_unix_s});
  return params;
}

}  // namespace

void bind_access(nb::module_& m) {
  nb::class_<PyAccess>(m, "Access", "Who may do what, by tokens and clients' certificates.")
      .def(
          "__init__",
          [](PyAccess* self, std::vector<std::string> rights, std::uint32_t open,
             const std::vector<GrantSpec>& grants) {
            new (self) PyAccess{
                std::make_shared<const Access>(params_of(std::move(rights), open, grants))};
          },
          "rights"_a, "open"_a, "grants"_a,
          R"(Grants are (name, digest, certificate, rights, models, end); rights are bits.

Raises RuntimeError where there are digests and no OpenSSL.

Parameters
----------
open
    What anybody may.
grants
    Digests are SHA-256 of tokens, empty without one; the end is in seconds of Unix time,
    0: never.)")
      .def(
          "check",
          [](const PyAccess& self, std::uint32_t right, const std::string& authorization,
             const std::vector<std::string>& certificate_names,
             const std::optional<std::string>& model) {
            const Access::Verdict verdict = self.access->check(
                right, {authorization, certificate_names.empty() ? nullptr : &certificate_names},
                model);
            return std::pair(static_cast<int>(verdict.status), verdict.why);
          },
          "right"_a, "authorization"_a, "certificate_names"_a, "model"_a.none(),
          R"(A status of gRPC, and why it is not 0.

Parameters
----------
model
    What it is about; empty: all models; None: none, or it is not known yet.)");
}

}  // namespace engine
