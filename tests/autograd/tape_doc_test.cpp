// The example in docs/tape.md: the page must show this code and its output.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "tests/documents.h"
#include "tests/support.h"

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

// Normalises line numbers and the folder given to the compiler: "<folder>/tape_doc_test.cpp:42" becomes
// "tests/autograd/tape_doc_test.cpp:N".
std::string without_places(std::string text) {
    const std::string here = __FILE__;
    const std::string name = "tape_doc_test.cpp";
    const std::string folder = here.substr(0, here.size() - name.size());
    const auto replace_all = [&text](const std::string& what, const std::string& by) {
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
            text.replace(at, what.size(), by);
    };
    replace_all(folder + name, "tests/" + name);
    for (std::size_t at = text.find(name + ":"); at != std::string::npos; at = text.find(name + ":", at + 1)) {
        const std::size_t number = at + name.size() + 1;
        text.replace(number, text.find_first_not_of("0123456789", number) - number, "N");
    }
    return text;
}

TEST(TapePage, ShowsWhatIsCompiledHere) { expect_compiled("docs/tape.md", "tests/autograd/tape_doc_test.cpp"); }

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
