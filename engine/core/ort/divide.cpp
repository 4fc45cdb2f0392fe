#include "ort/divide.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <link.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>

namespace engine::ort {
namespace {

/// Addresses of the library's instructions.
struct Text {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t within = 0;
};

Text library_text;
struct sigaction before = {};

int find_text(dl_phdr_info* info, std::size_t, void* found) {
  auto& wanted = *static_cast<Text*>(found);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (wanted.within < begin || wanted.within >= begin + segment.p_memsz) continue;
    wanted.begin = begin;
    wanted.end = begin + segment.p_memsz;
    return 1;
  }
  return 0;
}

/// A `div` or `idiv` of 32 or 64 bits; those of 8 and 16 no compiler makes of C++.
struct Division {
  bool is_wide = false;    ///< 64 bits
  bool is_signed = false;  ///< idiv
  int bytes = 0;           ///< of the instruction
  std::uint64_t divisor = 0;
};

constexpr std::array<int, 16> registers = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                           REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                           REG_R12, REG_R13, REG_R14, REG_R15};

std::uint64_t value_of(const mcontext_t& state, unsigned number) {
  return static_cast<std::uint64_t>(state.gregs[registers[number]]);
}

/// Reads the displacement at `code`.
std::uint64_t displacement(const std::uint8_t* code, int bytes) {
  if (bytes == 1) return static_cast<std::uint64_t>(static_cast<std::int8_t>(*code));
  std::int32_t wide = 0;
  std::memcpy(&wide, code, sizeof wide);
  return static_cast<std::uint64_t>(wide);
}

/// Intel's manual, volume 2, 2.1 (instruction format) and DIV, IDIV: [REX] F7 /6 or /7.
std::optional<Division> decode(const mcontext_t& state) {
  const auto* const start = reinterpret_cast<const std::uint8_t*>(state.gregs[REG_RIP]);
  const std::uint8_t* code = start;
  const unsigned rex = (*code & 0xf0U) == 0x40U ? *code++ : 0U;
  if (*code++ != 0xf7) return std::nullopt;
  const unsigned modrm = *code++;
  const unsigned mode = modrm >> 6U;
  const unsigned operation = (modrm >> 3U) & 7U;
  if (operation < 6) return std::nullopt;
  const unsigned base = (modrm & 7U) | (rex & 1U) << 3U;
  Division found{.is_wide = (rex & 8U) != 0, .is_signed = operation == 7};
  if (mode == 3) {
    found.divisor = value_of(state, base);
    found.bytes = static_cast<int>(code - start);
  } else {
    std::uint64_t address = 0;
    int offset_bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    bool from_next = false;
    if ((modrm & 7U) == 4) {  // SIB
      const unsigned sib = *code++;
      const unsigned index = ((sib >> 3U) & 7U) | (rex & 2U) << 2U;
      const unsigned sib_base = (sib & 7U) | (rex & 1U) << 3U;
      if (index != 4) address += value_of(state, index) << (sib >> 6U);
      if ((sib & 7U) == 5 && mode == 0)
        offset_bytes = 4;
      else
        address += value_of(state, sib_base);
    } else if ((modrm & 7U) == 5 && mode == 0) {
      offset_bytes = 4;
      from_next = true;
    } else {
      address += value_of(state, base);
    }
    if (offset_bytes != 0) address += displacement(code, offset_bytes);
    code += offset_bytes;
    found.bytes = static_cast<int>(code - start);
    if (from_next) address += reinterpret_cast<std::uintptr_t>(code);
    std::memcpy(&found.divisor, reinterpret_cast<const void*>(address), found.is_wide ? 8 : 4);
  }
  if (!found.is_wide) found.divisor &= 0xffffffffU;
  return found;
}

/// Sets quotient and remainder of the least number by -1, or of zero by zero, and goes on behind
/// the instruction.
bool divide(mcontext_t& state) {
  const std::optional<Division> division = decode(state);
  if (!division) return false;
  greg_t& low = state.gregs[REG_RAX];
  greg_t& high = state.gregs[REG_RDX];
  const std::uint64_t all = division->is_wide ? ~std::uint64_t{0} : 0xffffffffU;
  const std::uint64_t dividend = static_cast<std::uint64_t>(low) & all;
  const bool is_nothing =
      division->divisor == 0 && dividend == 0 && (static_cast<std::uint64_t>(high) & all) == 0;
  const bool overflows = division->is_signed && division->divisor == all;
  if (!is_nothing && !overflows) return false;
  low = static_cast<greg_t>(dividend);  // the least number, or zero
  high = 0;
  state.gregs[REG_RIP] += division->bytes;
  return true;
}

void pass_on(int number, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(number);
  ::signal(number, SIG_DFL);  // the instruction is executed again, or:
  if (info->si_code <= 0) ::raise(number);
}

void handle(int number, siginfo_t* info, void* context) {
  mcontext_t& state = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto at = static_cast<std::uintptr_t>(state.gregs[REG_RIP]);
  const bool is_ours =
      info->si_code == FPE_INTDIV && at >= library_text.begin && at < library_text.end;
  if (!is_ours || !divide(state)) pass_on(number, info, context);
}

}  // namespace

void define_divisions(const void* address_within) {
  static std::atomic<bool> is_done{false};
  if (is_done.exchange(true)) return;  // seq_cst: rare
  library_text.within = reinterpret_cast<std::uintptr_t>(address_within);
  if (::dl_iterate_phdr(find_text, &library_text) == 0) return;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGFPE, &action, &before);
}

}  // namespace engine::ort

#else

namespace engine::ort {

void define_divisions(const void*) {}

}  // namespace engine::ort

#endif
