// The worked example of docs/tape.md: the page shows this code, and this is what it prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "documents.h"
#include "support.h"

namespace heddle {
namespace {

std::string printed;

template <class... Args>
void show(fmt::format_string<Args...> format, Args&&... args) {
    printed += fmt::format(format, std::forward<Args>(args)...);
}

// clang-format off
void example() {
    const Variable w(Tensor::from<double>({0.5, -1}, {2}), true, "w");
    const Variable x(Tensor::from<double>({1, 2}, {2}), false, "x");

    const Variable product = ops::mul(w, x);
    const Variable hidden = ops::tanh(product);
    const Variable loss = ops::sum(hidden);
    show("loss {:.6f}, {} nodes\n", loss.value().item(), tape_size());
    for (const SavedMemory& entry : saved_memory())
        show("{} keeps {} bytes\n", entry.op, entry.bytes);
    show("{}", tape_as_dot());

    backward(loss);
    show("dw = {:.6f}\n", fmt::join(w.grad().to_vector(), ", "));
    show("{} nodes\n", tape_size());

    const Variable again = ops::tanh(ops::mul(w, x));
    Tensor value = again.value();
    value.fill_(0);
    try {
        backward(ops::sum(again));
    } catch (const Error& error) {
        show("{}\n", error.what());
    }
}
// clang-format on

// Folders and line numbers are not what the page is about: "../../tests/tape_doc_test.cpp:42" becomes
// "tests/tape_doc_test.cpp:N".
std::string without_places(std::string text) {
    const std::string file = "tape_doc_test.cpp:";
    for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file, at + 1)) {
        const std::size_t number = at + file.size();
        text.replace(number, text.find_first_not_of("0123456789", number) - number, "N");
        const std::size_t folder = text.find_last_of(" \"n", at) + 1;
        if (text.substr(folder, at - folder).ends_with("/tests/")) {
            text.replace(folder, at - folder, "tests/");
            at = folder + 6;
        }
    }
    return text;
}

TEST(TapePage, ShowsWhatIsCompiledHere) { expect_compiled("docs/tape.md", "tests/tape_doc_test.cpp"); }

TEST(TapePage, ShowsWhatTheExamplePrints) {
    const FreshTape fresh;
    printed.clear();
    example();
    std::string shown;
    for (const std::string& block : fenced_blocks("docs/tape.md", "text")) shown += block;
    EXPECT_EQ(without_places(printed), shown);
}

}  // namespace
}  // namespace heddle
