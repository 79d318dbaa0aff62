// The tape's errors: a wrong op, a changed tensor, and, in anomaly mode, numbers that are not finite.
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "tests/autograd/tape_ops.h"
#include "tests/support.h"

namespace heddle {
namespace {

// ---- errors of ops

TEST(Tape, NamesBothPlacesWhenASavedTensorWasChanged) {
    const Variable x(random_input({2, 3}, 1), true);
    const Variable y = softmax(x);
    Tensor value = y.value();
    value.fill_(0);
    const int line = __LINE__ - 1;
    const std::string message = error_of([&] { backward(y, value); });
    for (const std::string& part : {std::string("softmax at "), std::string("tape_errors_test.cpp:"), std::string("[2, 3]"),
                                    "tape_errors_test.cpp:" + std::to_string(line), std::string("changed in place")})
        EXPECT_NE(message.find(part), std::string::npos) << part << " is missing in: " << message;
}

TEST(Tape, SeesAChangeThroughAnotherHandleOnTheSameMemory) {
    const Variable x(random_input({2, 3}, 1), true);
    const Variable y = product(x, x);
    Tensor same = x.value();
    same.slice(0, 1).fill_(1);
    expect_error([&] { backward(y, random_input({2, 2}, 1)); }, "changed in place");
}

// A gradient is an ordinary tensor: an op may save it, and the next backward adds to it in place.
TEST(Tape, SeesThatASavedGradientWasAddedTo) {
    const Variable w(random_input({2, 3}, 1), true);
    const Tensor ones = Tensor::full({2, 2}, 1, DType::f64);
    backward(product(w, w), ones);
    const Variable gradient(w.grad());
    const Variable y = product(gradient, w);
    backward(y, ones, true);
    expect_error([&] { backward(y, ones); }, "changed in place");
}

TEST(Tape, RefusesAGradientOfTheWrongShape) {
    const Variable x = leaf({1, 2});
    const Variable y =
        record(x.value().clone(), {.op = "my_op", .where = Where::current(), .inputs = {x}, .backward = [](Gradients& g) {
                                       g.give(0, Tensor::zeros({3}, DType::f64));
                                   }});
    expect_error([&] { backward(y, kOnes); }, "my_op at ");
    expect_error([&] { backward(y, kOnes); }, "gave input 0 a gradient [3] f64, wanted [2] f64");
}

TEST(Tape, RefusesAnUndefinedGradientAndAnOpWithoutAName) {
    const Variable x = leaf({1, 2});
    const Variable y =
        record(x.value().clone(),
               {.op = "my_op", .where = Where::current(), .inputs = {x}, .backward = [](Gradients& g) { g.give(0, Tensor()); }});
    expect_error([&] { backward(y, kOnes); }, "gave input 0 an undefined tensor, wanted [2] f64");
    expect_error([&] { record(x.value(), {.op = nullptr, .where = Where::current(), .inputs = {x}}); }, "record: .op is missing");
}

TEST(Tape, SaysThatAnInputWantsNoGradient) {
    const Variable x = leaf({1, 2}), y(x.value().clone());
    const Variable z = record(
        x.value().clone(),
        {.op = "my_op", .where = Where::current(), .inputs = {x, y}, .backward = [](Gradients& g) { g.accumulate_into(1); }});
    expect_error([&] { backward(z, kOnes); }, "tape_errors_test.cpp:");
    expect_error([&] { backward(z, kOnes); }, "backward adds into input 1, which wants no gradient; ask needs(1) first");
}

TEST(Tape, RefusesIndicesThatTheOpDoesNotHave) {
    const Variable x = leaf({1, 2});
    const auto op = [&](Backward body) {
        return record(x.value().clone(), {.op = "my_op", .where = Where::current(), .inputs = {x}, .backward = std::move(body)});
    };
    expect_error([&] { backward(op([](Gradients& g) { g.saved(0); }), kOnes); }, "reads saved tensor 0, but 0 were saved");
    expect_error([&] { backward(op([](Gradients& g) { g.needs(1); }), kOnes); },
                 "backward asks for input 1 of 1, numbered from 0");
    expect_error([&] { backward(op([](Gradients& g) { g.output(1); }), kOnes); }, "backward asks for output 1 of 1");
    expect_error([&] { backward(op({}), kOnes); }, "recorded without a backward call");
}

TEST(Tape, RefusesALossThatIsNotOneElementAndAWrongCotangent) {
    const Variable y = times(leaf({1, 2}), 2);
    expect_error([&] { backward(y); }, "the loss has shape [2], wanted one element");
    expect_error([&] { backward(y, kOne); }, "the cotangent is [1] f64, but the output is [2] f64");
    expect_error([&] { backward(y, Tensor::full({2}, 1, DType::f32)); }, "the cotangent is [2] f32");
    expect_error([&] { backward(y, Tensor()); }, "the cotangent is ");
    expect_error([] { backward(Variable()); }, "undefined");
}

// ---- anomaly mode

TEST(AnomalyMode, NamesTheFirstOpWhoseOutputIsNotFinite) {
    const Variable x(random_input({2, 3}, 1), true);
    const Variable bad = times(x, 1e308);
    const int line = __LINE__ + 3;
    const std::string message = error_of([&] {
        const AnomalyMode anomaly;
        softmax(times(times(bad, 1e10), 2));
    });
    for (const std::string& part :
         {std::string("output 0 [2, 3] of times"), "tape_errors_test.cpp:" + std::to_string(line), std::string("inf")})
        EXPECT_NE(message.find(part), std::string::npos) << part << " is missing in: " << message;
    times(bad, 1e10);  // without anomaly mode nothing is checked
}

TEST(AnomalyMode, LastsUntilTheOuterOneEnds) {
    const Variable bad = times(Variable(random_input({2, 3}, 1), true), 1e308);
    const AnomalyMode outer;
    { const AnomalyMode inner; }
    expect_error([&] { times(bad, 1e10); }, "output 0 [2, 3] of times");
}

TEST(AnomalyMode, NamesTheFirstOpWhoseGradientIsNotFinite) {
    const AnomalyMode anomaly;
    const Variable x(random_input({2, 3}, 1), true);
    const Variable fine = times(x, 2);
    const Variable bad =
        record(fine.value().clone(), {.op = "broken", .where = Where::current(), .inputs = {fine}, .backward = [](Gradients& g) {
                                          Tensor dx = g.output().clone();
                                          dx.mutable_data<double>()[3] = std::nan("");
                                          g.give(0, dx);
                                      }});
    const std::string message = error_of([&] { backward(times(bad, 3), random_input({2, 3}, 2)); });
    for (const char* part : {"the gradient of input 0 [2, 3] of broken", "tape_errors_test.cpp:", "nan", "element 3 of 6"})
        EXPECT_NE(message.find(part), std::string::npos) << part << " is missing in: " << message;
}

TEST(AnomalyMode, SearchesWhatAnOpAddedInPlaceToo) {
    const AnomalyMode anomaly;
    const Variable w = leaf({1, 2});
    const Variable y =
        record(w.value().clone(), {.op = "my_op", .where = Where::current(), .inputs = {w}, .backward = [](Gradients& g) {
                                       g.accumulate_into(0).mutable_data<double>()[1] = std::nan("");
                                   }});
    expect_error([&] { backward(y, kOnes); }, "the gradient of input 0 [2] of my_op");
}

}  // namespace
}  // namespace heddle
