#include "kernels/emulator/frontend/rewrite.h"

#include <algorithm>

#include "kernels/emulator/frontend/ptx.h"
#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {
namespace {

// Three < that touch each other, or that a macro has spaced, are no C++ but a launch, save in operator<< <int>.
bool starts_launch(const Tokens& tokens, std::uint32_t i) {
    if (!tokens.is(i, '<') || !tokens.is(i + 1, '<') || !tokens.is(i + 2, '<')) return false;
    return !tokens.is(i - 1, Word::operator_);
}

bool is_cuda(const Tokens& tokens, std::uint32_t i) {
    return tokens[i].word >= Word::global && tokens[i].word <= Word::grid_constant;
}

// Whether __forceinline__ can become `inline`: that may stand only once in a declaration, and never in a lambda.
bool may_be_inline(const Tokens& tokens, std::uint32_t i) {
    for (std::uint32_t k = i; k > 0 && tokens.is_word(k - 1); --k)
        if (tokens.is(k - 1, Word::inline_) || tokens.is(k - 1, Word::force_inline)) return false;
    std::uint32_t next = i + 1;
    for (; tokens.is_word(next); ++next)
        if (tokens.is(next, Word::inline_)) return false;
    const bool named = next > i + 1 && !is_cuda(tokens, next - 1);
    return named || !(tokens.is(next, '(') || tokens.is(next, '{'));
}

// Removes a word that any other compiler refuses, with its (...); returns the last token that it read.
std::uint32_t remove_keyword(TranslationUnit& unit, std::uint32_t i) {
    const Tokens& tokens = unit.tokens;
    const Word word = tokens[i].word;
    if (unit.changes.changed(i)) return i;
    if (word == Word::force_inline) {
        unit.changes.replace(i, may_be_inline(tokens, i) ? "inline" : "");
        return i;
    }
    unit.changes.remove(i);
    if ((word == Word::launch_bounds || word == Word::cluster_dims) && tokens.is(i + 1, '(') && tokens[i + 1].pair != kNone) {
        unit.changes.remove({i + 1, tokens[i + 1].pair + 1});
        return tokens[i + 1].pair;
    }
    return i;
}

// A __global__ that the walk over the declarations has not seen: a kernel with a body would lose it without a word.
void refuse_unread_kernel(TranslationUnit& unit, std::uint32_t token) {
    const Tokens& tokens = unit.tokens;
    for (std::uint32_t i = token; i < tokens.size() && !tokens.is(i, ';') && !tokens.is(i, '}'); ++i) {
        if (tokens.is(i, '{')) unit.fail(token, "cannot read the declaration of this kernel");
        if (tokens.is(i, '(') && tokens[i].pair != kNone) i = tokens[i].pair;
    }
}

// asm("..." : ...) in a function of the GPU is PTX.
void rewrite_asm(TranslationUnit& unit, std::uint32_t token) {
    const Tokens& tokens = unit.tokens;
    std::uint32_t open = token + 1;
    while (tokens.is_word(open)) ++open;  // volatile
    const std::uint32_t close = tokens.is(open, '(') ? tokens[open].pair : kNone;
    if (close == kNone) return;
    const std::uint32_t at = tokens[token].at;
    PtxText ptx = translate_asm(tokens.text().substr(at, tokens[close].at + 1 - at), static_cast<unsigned>(++unit.names));
    if (!ptx.error.empty()) {
        std::uint32_t refused = token;
        while (refused < close && tokens[refused + 1].at <= at + ptx.at) ++refused;
        unit.fail(refused, ptx.error);
    }
    unit.changes.replace({token, close + 1}, std::move(ptx.text));
}

// T f() asm("name"): a declaration's other name, which follows its parameters.
bool names_symbol(const Tokens& tokens, std::uint32_t token) {
    const std::uint32_t open = tokens.is(token - 1, ')') ? tokens[token - 1].pair : kNone;
    return open != kNone && tokens.is_word(open - 1) && !tokens.is(open - 1, Word::statement);
}

// The body of a kernel or of a __device__ function. In others, asm is the processor's, and static variables the host's.
void rewrite_device_code(TranslationUnit& unit, std::uint32_t brace) {
    for (std::uint32_t i = brace; i < unit.tokens[brace].pair && i < unit.tokens.size(); ++i) {
        if (!unit.tokens.is(i, Word::asm_) || unit.changes.changed(i) || names_symbol(unit.tokens, i)) continue;
        if (unit.options.is_answer)
            unit.fail(i, "an answer has no inline PTX; call the functions of the headers that exercise.h includes");
        rewrite_asm(unit, i);
    }
    rewrite_static_locals(unit, brace);
}

// Rewrites launches, shared memory and keywords wherever they stand.
void rewrite_tokens(TranslationUnit& unit) {
    const Tokens& tokens = unit.tokens;
    for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        const Token& token = tokens[i];
        if (token.kind == Kind::sign) {
            if (starts_launch(tokens, i)) {
                if (unit.options.is_answer)
                    unit.fail(
                        i, "an answer starts no kernels: the check launches the one that exercise.h declares; leave out <<<>>>");
                rewrite_launch(unit, i);
                i += 2;
            }
        } else if (token.word == Word::shared) {
            if (!unit.changes.changed(i)) rewrite_shared(unit, i);
        } else if (is_cuda(tokens, i)) {
            if (token.word == Word::global && !unit.changes.changed(i)) refuse_unread_kernel(unit, i);
            i = remove_keyword(unit, i);
        }
    }
}

}  // namespace

RewriteError::RewriteError(std::string file_, int line_, std::string message_)
    : std::runtime_error(file_ + ":" + std::to_string(line_) + ": " + message_),
      file(std::move(file_)),
      line(line_),
      message(std::move(message_)) {}

void TranslationUnit::fail(std::uint32_t token, const std::string& message) const {
    throw RewriteError(tokens.file(token), static_cast<int>(tokens[token].line), message);
}

void Changes::replace(std::uint32_t token, std::string text) {
    if (token >= changed_.size() || changed_[token]) return;
    changed_[token] = true;
    edits_.push_back({tokens_[token].at, tokens_[token].length, Order::replaced, std::move(text)});
}

void Changes::remove(Range range) {
    const std::string_view text = tokens_.text();
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
        if (changed(i)) continue;
        remove(i);
        if (i + 1 == range.end) break;
        const std::uint32_t next = tokens_[i + 1].at;
        std::uint32_t& removed = edits_.back().removed;
        if (text.substr(tokens_[i].at, next - tokens_[i].at).find('\n') == std::string_view::npos) removed = next - tokens_[i].at;
    }
}

void Changes::replace(Range range, std::string text) {
    const std::uint32_t end = tokens_[range.end - 1].at + tokens_[range.end - 1].length;
    std::fill(changed_.begin() + range.begin, changed_.begin() + range.end, true);
    edits_.push_back({tokens_[range.begin].at, end - tokens_[range.begin].at, Order::replaced, std::move(text)});
}

std::string Changes::apply() {
    for (const Tokens::Piece& pragma : tokens_.foreign_pragmas())
        edits_.push_back({pragma.at, pragma.length, Order::replaced, ""});
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const Edit& a, const Edit& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; });
    const std::string_view text = tokens_.text();
    std::string result;
    std::size_t size = text.size();
    for (const Edit& edit : edits_) size += edit.text.size();
    result.reserve(size);
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
        if (edit.at < at) continue;  // in a range that was replaced as a whole
        result += text.substr(at, edit.at - at);
        result += edit.text;
        at = edit.at + edit.removed;
    }
    result += text.substr(at);
    return result;
}

Rewritten rewrite(std::string_view preprocessed, const RewriteOptions& options) {
    const Tokens tokens(preprocessed);
    const Declarations declarations = find_declarations(tokens);
    TranslationUnit unit(tokens, options);
    Rewritten result;
    result.has_main = declarations.has_main;
    for (const Variables& variables : declarations.variables) {
        if (variables.space == Word::shared)
            rewrite_shared_outside(unit, variables);
        else
            rewrite_variables(unit, variables);
    }
    for (const Function& kernel : declarations.kernels) {
        for (std::uint32_t i = kernel.head.begin; i < kernel.head.end; ++i)
            if (tokens.is(i, Word::global)) unit.changes.remove(i);
        if (kernel.body == kNone) continue;
        if (!options.is_answer) rewrite_kernel(unit, kernel, declarations.scopes[kernel.scope.name]);
        declare_shared_outside(unit, kernel.parameters, kernel.body);
        rewrite_device_code(unit, kernel.body);
        result.kernels.push_back(describe_kernel(tokens, declarations, kernel));
    }
    for (const Body& body : declarations.bodies) {
        declare_shared_outside(unit, body.parameters, body.brace);
        if (body.device) rewrite_device_code(unit, body.brace);
    }
    if (options.host_is_unwatched) leave_host_code_unwatched(unit, declarations);
    rewrite_tokens(unit);
    result.text = unit.changes.apply();
    return result;
}

}  // namespace heddle::emulator::frontend
