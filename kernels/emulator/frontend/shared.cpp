// Shared memory becomes references into the block's memory. A local struct holds the types, is never made, and tells one
// declaration from all others:
//
//     __shared__ float a[N], b;
//     struct S { float a[N], b; }; auto& a = shared<decltype(S::a), Tag<S, 0>>("a"); auto& b = shared<decltype(S::b), Tag<S,
//     1>>("b");
//
//     extern __shared__ float s[];
//     typedef float T[]; auto& s = dynamic_shared<T>("s");
#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {
namespace {

constexpr std::uint32_t kLongest = 256;  // tokens between the start of a declaration and its __shared__

// The first token of the declaration that contains `token`; kNone if that stands in no declaration of its own.
std::uint32_t start_of_declaration(const Tokens& tokens, std::uint32_t token) {
    for (std::uint32_t i = token; i > 0 && token - i < kLongest; --i) {
        const std::uint32_t before = i - 1;
        if (tokens.is(before, ';') || tokens.is(before, '{') || tokens.is(before, '}') || tokens.is(before, ':')) return i;
        if (tokens.is(before, ')')) {
            const std::uint32_t open = tokens[before].pair;
            if (open == kNone) return i;
            const Word word = tokens[open - 1].word;
            if (word != Word::attribute && word != Word::alignas_ && word != Word::decltype_) return i;
            i = open;
        } else if (tokens.is(before, '(') || tokens.is(before, ',')) {
            return kNone;  // a parameter
        }
    }
    return token < kLongest ? 0 : kNone;
}

std::uint32_t end_of_declaration(const Tokens& tokens, std::uint32_t begin) {
    for (std::uint32_t i = begin; i < tokens.size(); ++i) {
        if (tokens.is(i, ';')) return i;
        if (tokens.is(i, '(') || tokens.is(i, '[') || tokens.is(i, '{')) {
            i = tokens[i].pair;
            if (i == kNone) return kNone;
        } else if (tokens.is(i, ')') || tokens.is(i, '}')) {
            return kNone;
        }
    }
    return kNone;
}

// One declaration of shared memory, [begin, end), with the texts that replace it.
struct Shared {
    std::string type;        // of the struct, or of the first declarator's typedef
    std::string references;  // auto& a = ...
    std::vector<SharedOutside> names;
};

// `struct Point {...} p;` declares Point for those after it, too: the part of the range that stays in front of the struct.
std::uint32_t end_of_named_class(const Tokens& tokens, Range range) {
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
        if (!tokens.is(i, Word::class_) && !tokens.is(i, Word::enum_)) continue;
        for (std::uint32_t k = i + 1; k < range.end && !tokens.is(k, ';'); ++k)
            if (tokens.is(k, '{')) return k > i + 1 && tokens[k].pair < range.end ? tokens[k].pair : kNone;
        return kNone;
    }
    return kNone;
}

void declare_static(TranslationUnit& unit, Range range, Shared& shared) {
    const Tokens& tokens = unit.tokens;
    shared.type = unit.new_name("shared");
    const std::uint32_t body = end_of_named_class(tokens, range);
    if (body == kNone) {
        unit.changes.before(range.begin, "struct " + shared.type + " { ");
    } else {
        std::uint32_t name = tokens[body].pair - 1;
        for (std::uint32_t i = range.begin; i < tokens[body].pair; ++i)
            if (tokens.is(i, Word::class_) && tokens.is_word(i + 1)) name = i + 1;
        while (tokens.is(name, Word::attribute) || tokens.is(name, Word::alignas_))
            name = tokens.is(name + 1, '(') && tokens[name + 1].pair != kNone ? tokens[name + 1].pair + 1 : name + 1;
        unit.changes.after(body, "; struct " + shared.type + " { " + std::string(tokens.text(name)));
    }
    unit.changes.after(range.end, " };");
    int number = 0;
    for (const Declarator& declarator : declarators(tokens, range)) {
        const std::string name(tokens.text(declarator.name));
        const std::string reference = " auto& " + name + " = " + kCuda + "shared<decltype(" + shared.type + "::" + name + "), " +
                                      kCuda + "Tag<" + shared.type + ", " + std::to_string(number++) + ">>(\"" + name + "\");";
        shared.references += reference;
        shared.names.push_back({name, reference, declarator.name});
    }
}

void declare_dynamic(TranslationUnit& unit, Range range, Shared& shared) {
    const Tokens& tokens = unit.tokens;
    unit.changes.before(range.begin, "typedef ");
    for (std::uint32_t i = range.begin; i < range.end; ++i)  // alignas may not stand in a typedef; the memory is aligned to 1024
        if (tokens.is(i, Word::alignas_) && tokens.is(i + 1, '(') && tokens[i + 1].pair < range.end) {
            unit.changes.remove({i, tokens[i + 1].pair + 1});
            i = tokens[i + 1].pair;
        }
    for (const Declarator& declarator : declarators(tokens, range)) {
        const std::string name(tokens.text(declarator.name));
        const std::string type = unit.new_name("dynamic");
        if (shared.type.empty()) shared.type = type;
        unit.changes.replace(declarator.name, type);
        const std::string reference = " auto& " + name + " = " + kCuda + "dynamic_shared<" + type + ">(\"" + name + "\");";
        shared.references += reference;
        shared.names.push_back({name, reference, declarator.name});
    }
}

// Leaves the declaration as one of types; what declares the names is in the result.
Shared declare(TranslationUnit& unit, Range range) {
    const Tokens& tokens = unit.tokens;
    bool dynamic = false;
    for (std::uint32_t i = range.begin; i < range.end && !tokens.is(i, '['); ++i) {
        dynamic = dynamic || tokens.is(i, Word::extern_);
        const bool storage = tokens.is(i, Word::extern_) || tokens.is(i, Word::static_) || tokens.is(i, Word::inline_);
        if (tokens.is(i, '{')) break;
        if (storage || tokens.is(i, Word::shared) || tokens.is(i, Word::device)) unit.changes.remove(i);
    }
    Shared shared;
    if (dynamic)
        declare_dynamic(unit, range, shared);
    else
        declare_static(unit, range, shared);
    if (shared.names.empty()) unit.fail(range.begin, "cannot read this declaration of shared memory");
    return shared;
}

}  // namespace

void rewrite_shared(TranslationUnit& unit, std::uint32_t token) {
    const Tokens& tokens = unit.tokens;
    const std::uint32_t begin = start_of_declaration(tokens, token);
    if (begin == kNone) return unit.changes.remove(token);  // nvcc ignores it in parameters, too
    const std::uint32_t end = end_of_declaration(tokens, begin);
    if (end == kNone) unit.fail(token, "this declaration of shared memory has no end");
    unit.changes.after(end, declare(unit, {begin, end}).references);
}

void rewrite_shared_outside(TranslationUnit& unit, const Variables& variables) {
    Shared shared = declare(unit, variables.range);
    unit.shared_outside.insert(unit.shared_outside.end(), shared.names.begin(), shared.names.end());
}

void declare_shared_outside(TranslationUnit& unit, std::uint32_t parameters, std::uint32_t brace) {
    const Tokens& tokens = unit.tokens;
    if (unit.shared_outside.empty() || tokens[brace].pair == kNone) return;
    for (const SharedOutside& outside : unit.shared_outside) {
        if (outside.declared > brace) continue;
        bool used = false, own = false;
        for (std::uint32_t i = parameters; i < tokens[brace].pair; ++i) {
            if (!tokens.is_word(i) || tokens.text(i) != outside.name) continue;
            if (tokens.is(i - 1, '.') || tokens.is(i - 1, "->") || tokens.is(i - 1, "::")) continue;
            used = true;
            // After a type or a * that follows one stands a declaration, and hides the name outside.
            const bool after_type = (tokens.is_word(i - 1) && !tokens.is(i - 1, Word::statement)) || tokens.is(i - 1, '>');
            const bool after_star = (tokens.is(i - 1, '*') || tokens.is(i - 1, '&')) && tokens.is(i - 2, Word::type);
            own = own || after_type || after_star;
        }
        if (used && !own) unit.changes.after(brace, outside.declaration);
    }
}

}  // namespace heddle::emulator::frontend
