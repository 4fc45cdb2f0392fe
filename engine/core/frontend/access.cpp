#include "frontend/access.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "tls/api.hpp"

namespace engine::frontend {

namespace {

constexpr std::string_view scheme = "bearer ";
/// Of a header: more is no token of ours.
constexpr std::size_t most_bytes = 4096;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// What follows `Bearer `; nothing where that is not what begins it.
std::optional<std::string_view> token_of(std::string_view header) {
  if (header.size() <= scheme.size() || header.size() > most_bytes) return std::nullopt;
  const std::string_view begin = header.substr(0, scheme.size());
  if (!std::ranges::equal(begin, scheme, [](char a, char b) { return lower(a) == b; }))
    return std::nullopt;
  header.remove_prefix(scheme.size());
  return header;
}

Digest digest_of(std::string_view token) {
  Digest digest{};
  tls::Api::open().sha256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                          digest.data());
  return digest;
}

bool has_model(const Grant& grant, std::optional<std::string_view> model) {
  return grant.models.empty() || !model ||
         std::ranges::find(grant.models, *model) != grant.models.end();
}

bool is_over(const Grant& grant) {
  return grant.ends_unix_s != 0 && std::time(nullptr) >= grant.ends_unix_s;
}

Access::Verdict not_known(std::string why) { return {Status::unauthenticated, std::move(why)}; }

}  // namespace

Access::Access(Params params) : params_(std::move(params)) {
  const auto has_token = [](const Grant& grant) { return grant.token.has_value(); };
  if (std::ranges::any_of(params_.grants, has_token)) static_cast<void>(tls::Api::open());
}

Access::Verdict Access::check(std::uint32_t right, const Caller& caller,
                              std::optional<std::string_view> model) const {
  const std::uint32_t bit = 1U << right;
  if ((params_.open & bit) != 0) return {};
  const std::string& asked = params_.rights.at(right);
  if (params_.grants.empty())
    return {Status::permission_denied, "nobody has the right '" + asked + "' here"};

  const auto token = token_of(caller.authorization);
  const bool shows_nothing = caller.certificate_names == nullptr;
  if (caller.authorization.empty() ? shows_nothing : !token)
    return not_known("a token is needed, as 'authorization: Bearer TOKEN'");
  const auto digest = token ? std::optional(digest_of(*token)) : std::nullopt;
  const auto is_of = [&](const Grant& grant) {
    if (digest)
      return grant.token &&
             tls::Api::open().compare(grant.token->data(), digest->data(), digest->size()) == 0;
    return !grant.certificate.empty() &&
           std::ranges::find(*caller.certificate_names, grant.certificate) !=
               caller.certificate_names->end();
  };

  const Grant* known = nullptr;
  bool was_known = false, has_right = false;
  for (const Grant& grant : params_.grants) {
    if (!is_of(grant)) continue;
    was_known = true;
    if (is_over(grant)) continue;
    known = &grant;
    if ((grant.rights & bit) == 0) continue;
    has_right = true;
    if (has_model(grant, model)) return {};
  }
  if (known == nullptr && was_known)
    return not_known(digest ? "the token has expired" : "the certificate's rights have expired");
  if (known == nullptr)
    return not_known(digest ? "the token is not known"
                            : "a token is needed: the certificate's names have no rights");
  std::string why = "'" + known->name + "' has no right '" + asked + "'";
  if (has_right) why += model->empty() ? " to all models" : " to this model";
  return {Status::permission_denied, std::move(why)};
}

}  // namespace engine::frontend
