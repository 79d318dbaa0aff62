// Code of the host runs many times faster unwatched: reference loops take longer than kernels otherwise.
//
//     void reference(float* y) { ... }
//     [[gnu::no_sanitize_thread, gnu::no_sanitize("alignment")]] void reference(float* y) { ... }
//
// A function is the host's if it is neither __global__, __device__ nor constexpr, and was nowhere declared __device__. Because
// the emulator runs what nvcc refuses, too, a function stays watched if code of the GPU contains its name, and so does what such
// a function names in turn. Operators have no name that would be seen: those of the program stay watched with all that they name.
// Those of the standard library are the host's, except in the headers that the emulator's thrust and kernels themselves use.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {
namespace {

constexpr const char* kUnwatched = "[[gnu::no_sanitize_thread, gnu::no_sanitize(\"alignment\")]] ";

enum class Origin : std::uint8_t {
    users,
    systems,
    containers,  ///< which no GPU has: also their constexpr functions are the host's
    devices,     ///< headers whose functions kernels use, by names that they do not contain
    emulators
};

template <std::size_t N>
bool is_one_of(std::string_view file, const std::array<std::string_view, N>& ends) {
    return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return file.ends_with(end); });
}

Origin origin_of(const std::string& file) {
    if (file.find("kernels/emulator/") != std::string::npos || file.find("/headers-") != std::string::npos)
        return Origin::emulators;
    constexpr std::array<std::string_view, 7> kContainers = {
        "/bits/stl_vector.h",     "/bits/vector.tcc", "/bits/stl_bvector.h", "/bits/basic_string.h",
        "/bits/basic_string.tcc", "/v1/vector",       "/v1/string"};
    constexpr std::array<std::string_view, 8> kDevices = {"/complex",     "/tuple",           "/utility",
                                                          "/optional",    "/bits/stl_pair.h", "/bits/stl_algobase.h",
                                                          "/bits/move.h", "/bits/utility.h"};
    if (!file.starts_with("/usr/")) return Origin::users;
    return is_one_of(file, kContainers) ? Origin::containers : is_one_of(file, kDevices) ? Origin::devices : Origin::systems;
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
            if (body.device || has_device_lambda(body) ||
                (body.name == kNone && origin_of(tokens.file(body.brace)) == Origin::users))
                add(body.brace);
        for (const std::uint32_t name : declarations.device_names) add_name(tokens.text(name));
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
            if (tokens_.is_word(i) && tokens_.is(i, Word::other)) add_name(tokens_.text(i));
        }
    }
    void add_name(std::string_view name) {
        if (!names_.insert(name).second) return;
        const auto found = bodies_.find(name);
        if (found == bodies_.end()) return;
        for (const Body* const body : found->second)
            if (origin_of(tokens_.file(body->brace)) == Origin::users) open_.push_back(body->brace);
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
        if (body.device || body.begin == kNone || tokens[body.brace].pair == kNone) continue;
        const Origin origin = origin_of(tokens.file(body.brace));
        if (origin == Origin::emulators || origin == Origin::devices) continue;
        if (body.is_constexpr && origin != Origin::containers) continue;  // since C++20 a vector's functions are
        if (body.name == kNone ? origin == Origin::users : device.contain(tokens.text(body.name))) continue;
        unit.changes.before(body.begin, kUnwatched);
    }
}

}  // namespace heddle::emulator::frontend
