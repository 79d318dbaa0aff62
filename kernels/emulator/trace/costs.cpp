#include "kernels/emulator/trace/costs.h"

#include <algorithm>
#include <array>
#include <vector>

namespace heddle::emulator {
namespace {

constexpr std::uint64_t kBanks = 32, kWord = 4;

}  // namespace

BankCycles bank_cycles(std::span<const BankAccess> accesses) {
    std::size_t widest = 0;
    for (const BankAccess& one : accesses) widest = std::max(widest, one.bytes);
    const std::size_t together = widest <= 4 ? 32 : widest <= 8 ? 16 : 8;
    BankCycles all;
    for (std::size_t first = 0; first < 32; first += together) {
        std::array<std::vector<std::uint64_t>, kBanks> words;  // that each bank must deliver
        for (const BankAccess& one : accesses) {
            if (one.lane < first || one.lane >= first + together) continue;
            for (std::uint64_t word = one.address / kWord; word * kWord < one.address + one.bytes; ++word)
                if (std::vector<std::uint64_t>& bank = words[word % kBanks]; std::ranges::find(bank, word) == bank.end())
                    bank.push_back(word);
        }
        const auto degree =
            static_cast<std::uint32_t>(std::ranges::max_element(words, {}, [](const auto& bank) { return bank.size(); })->size());
        all.degree = std::max(all.degree, degree);
        all.cycles += degree;
        all.parts += degree != 0;
    }
    return all;
}

}  // namespace heddle::emulator
