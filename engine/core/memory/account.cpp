#include "memory/account.hpp"

namespace engine {

MemoryAccount& MemoryAccount::process() noexcept {
  static MemoryAccount* const account = new MemoryAccount;  // blocks are freed until the very end
  return *account;
}

}  // namespace engine
