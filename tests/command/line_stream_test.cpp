#include "apps/command/line_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;

class LineStreamTest : public testing::Test {
  protected:
    LineStreamTest() { EXPECT_EQ(pipe(ends_), 0); }
    ~LineStreamTest() override {
        close(ends_[0]);
        end();
    }
    void type(const std::string& text) {
        EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    void end() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }

    int ends_[2] = {-1, -1};
};

TEST_F(LineStreamTest, AnswersALineBeforeTheNextIsTyped) {
    LineStream lines(ends_[0]);
    type("eins\n");
    EXPECT_EQ(lines.next(100), Lines{"eins"});
    type("zwei\ndrei\nvi");
    EXPECT_EQ(lines.next(100), (Lines{"zwei", "drei"})) << "half a line waits";
    type("er\n");
    end();
    EXPECT_EQ(lines.next(100), Lines{"vier"});
    EXPECT_TRUE(lines.next(100).empty());
    EXPECT_TRUE(lines.next(100).empty()) << "the end stays the end";
}

TEST_F(LineStreamTest, WaitsForFurtherPiecesAsLongAsItIsTold) {
    LineStream lines(ends_[0]);
    type("one\n");
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        type("two\nthr");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        type("ee\nfour\n");
    });
    EXPECT_EQ(lines.next(3, 60'000), (Lines{"one", "two", "three"}));
    writer.join();
    EXPECT_EQ(lines.next(3, 1), Lines{"four"}) << "the wait ends";
}

TEST_F(LineStreamTest, DoesNotWaitForATrickleToEnd) {
    LineStream lines(ends_[0]);
    std::jthread writer([&](const std::stop_token& stop) {
        for (int i = 0; i < 5000 && !stop.stop_requested(); ++i) {
            type("line\n");
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    const std::size_t count = lines.next(5000, 30).size();
    EXPECT_GE(count, 2u);
    EXPECT_LT(count, 1000u) << "0.3 s of ten";
}

TEST_F(LineStreamTest, HandsOutNoMoreThanTheLimit) {
    LineStream lines(ends_[0]);
    type("1\n2\n3\n4\n5\n");
    end();
    EXPECT_EQ(lines.next(2), (Lines{"1", "2"}));
    EXPECT_EQ(lines.next(2), (Lines{"3", "4"}));
    EXPECT_EQ(lines.next(2), Lines{"5"});
}

TEST_F(LineStreamTest, CutsALineOfManyMegabytesWhileItReads) {
    LineStream lines(ends_[0]);
    constexpr std::size_t megabytes = 64;
    std::thread writer([&] {
        type("first\n");
        for (std::size_t i = 0; i < megabytes; ++i) type(std::string(1 << 20, 'x'));
        type("\nlast\n");
        end();
    });
    Lines all;
    for (Lines some; !(some = lines.next(64)).empty();) all.insert(all.end(), some.begin(), some.end());
    writer.join();
    EXPECT_EQ(all, (Lines{"first", std::string(longest_line, 'x'), "last"}));
    EXPECT_LT(all[1].capacity(), 4 * longest_line) << "what is cut off takes no memory";
    Lines said;
    lines.say_changes([&](std::string_view line) { said.emplace_back(line); });
    EXPECT_EQ(said, Lines{"standard input: cut 1 line to 65,536 bytes, the longest a line may be"});
}

TEST_F(LineStreamTest, NamesTheLineThatIsNoText) {
    LineStream lines(ends_[0]), replacing(ends_[0], true);
    type("eins\n");
    EXPECT_EQ(lines.next(100), Lines{"eins"});
    type("zwei\nb\xFChne\nvier\n");
    EXPECT_EQ(lines.next(100), Lines{"zwei"}) << "what came before the error";
    try {
        lines.next(100);
        ADD_FAILURE() << "no error";
    } catch (const std::exception& error) {
        EXPECT_EQ(std::string(error.what()).substr(0, 38), "standard input:3: this line is not UTF");
    }
    EXPECT_EQ(lines.next(100), Lines{"vier"});
    type("b\xFChne\n");
    EXPECT_EQ(replacing.next(100), Lines{"b\uFFFDhne"});
}

TEST(LineStream, SaysWhenReadingFails) { EXPECT_THROW(LineStream(-1).next(1), std::exception); }

}  // namespace
}  // namespace heddle::app
