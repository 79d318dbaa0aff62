// Code of the host runs many times faster unwatched: reference loops take longer than kernels otherwise.
//
//     void reference(float* y) { ... }
//     [[gnu::no_sanitize_thread, gnu::no_sanitize("alignment")]] void reference(float* y) { ... }
//
// A function is the host's if it is neither __global__, __device__ nor constexpr. Because the emulator runs what nvcc refuses,
// too, a function stays watched if code of the GPU contains its name, and so does what such a function names in turn.
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {
namespace {

constexpr const char* kUnwatched = "[[gnu::no_sanitize_thread, gnu::no_sanitize(\"alignment\")]] ";

enum class Origin : std::uint8_t { users, systems, emulators };

Origin origin_of(const std::string& file) {
    if (file.find("kernels/emulator/") != std::string::npos || file.find("/headers-") != std::string::npos)
        return Origin::emulators;
    return file.starts_with("/usr/") ? Origin::systems : Origin::users;
}

/// The names in code that a GPU may run.
class DeviceNames {
  public:
    DeviceNames(const Tokens& tokens, const Declarations& declarations) : tokens_(tokens) {
        for (const Body& body : declarations.bodies)
            if (!body.device && body.name != kNone) bodies_[tokens.text(body.name)].push_back(&body);
        for (const Function& kernel : declarations.kernels)
            if (kernel.body != kNone) add(kernel.body);
        for (const Body& body : declarations.bodies)
            if (body.device || has_device_lambda(body)) add(body.brace);
        while (!open_.empty()) {
            const std::uint32_t brace = open_.back();
            open_.pop_back();
            add(brace);
        }
    }
    bool contain(std::string_view name) const { return names_.contains(name); }

  private:
    bool has_device_lambda(const Body& body) const {
        for (std::uint32_t i = body.brace; i < tokens_[body.brace].pair && i < tokens_.size(); ++i)
            if (tokens_.is(i, Word::device)) return true;
        return false;
    }
    void add(std::uint32_t brace) {
        for (std::uint32_t i = brace; i < tokens_[brace].pair && i < tokens_.size(); ++i) {
            if (!tokens_.is_word(i) || !tokens_.is(i, Word::other) || !names_.insert(tokens_.text(i)).second) continue;
            const auto found = bodies_.find(tokens_.text(i));
            if (found == bodies_.end()) continue;
            for (const Body* const body : found->second)
                if (origin_of(tokens_.file(body->brace)) == Origin::users) open_.push_back(body->brace);
        }
    }

    const Tokens& tokens_;
    std::unordered_map<std::string_view, std::vector<const Body*>> bodies_;
    std::unordered_set<std::string_view> names_;
    std::vector<std::uint32_t> open_;
};

}  // namespace

void leave_host_code_unwatched(TranslationUnit& unit, const Declarations& declarations) {
    const Tokens& tokens = unit.tokens;
    const DeviceNames device(tokens, declarations);
    for (const Body& body : declarations.bodies) {
        if (body.device || body.is_constexpr || body.begin == kNone || tokens[body.brace].pair == kNone) continue;
        const Origin origin = origin_of(tokens.file(body.brace));
        if (origin == Origin::emulators) continue;
        // Operators have no name that would be seen: those of std::vector are the host's, those of a program may be a functor's.
        if (body.name == kNone ? origin == Origin::users : device.contain(tokens.text(body.name))) continue;
        unit.changes.before(body.begin, kUnwatched);
    }
}

}  // namespace heddle::emulator::frontend
