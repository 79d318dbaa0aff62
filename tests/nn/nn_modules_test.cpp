// Recurrent layers and convolution give PyTorch's numbers under PyTorch's names; dropout, lists of modules, modules as roots.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "autograd/operators.h"
#include "nn/conv1d.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/flat.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/recurrent.h"
#include "nn/sequential.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

// sin(0.7 i + k) / 2, which is easily made by other programs, too.
Tensor waves(const Shape& shape, double k) {
    Tensor values = Tensor::empty(shape, DType::f64);
    for (std::int64_t i = 0; i < values.numel(); ++i)
        values.mutable_data<double>()[i] = std::sin(0.7 * static_cast<double>(i) + k) * 0.5;
    return values;
}

// In f64, parameter k filled with waves(.., k).
template <class Kind>
Kind& waving(Kind& module) {
    module.to(DType::f64);
    double k = 0;
    for (const Parameter& parameter : module.parameters()) {
        Tensor value = parameter.variable.value();
        value.copy_(waves(value.shape(), k++));
    }
    return module;
}

void expect_numbers(const Variable& given, const Shape& shape, const std::vector<double>& wanted) {
    EXPECT_EQ(given.shape(), shape);
    const std::vector<double> values = given.value().to_vector();
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-9) << i;
}

// torch.nn.GRU(2, 2, num_layers=2, bidirectional=True, batch_first=True) of PyTorch 2.
TEST(Gru, GivesPytorchsNumbers) {
    GRU gru(2, 2, {.layers = 2, .bidirectional = true});
    EXPECT_EQ(names_of(gru),
              (std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                                        "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                                        "weight_hh_l1", "bias_ih_l1", "bias_hh_l1", "weight_ih_l1_reverse",
                                        "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse"}));
    const RecurrentOutput result = waving(gru)(waves({2, 3, 2}, 10));
    expect_numbers(result.output, {2, 3, 4},
                   {0.074537200,  0.243203105, -0.349691239, -0.753372473, 0.011705792, 0.371472589, -0.245500306, -0.726755555,
                    -0.022227633, 0.449667018, -0.154895668, -0.556710197, 0.124730480, 0.242325019, -0.403089089, -0.715203096,
                    0.108483111,  0.347928116, -0.260870067, -0.703587566, 0.044182148, 0.414295041, -0.135337222, -0.565866250});
    expect_numbers(result.hidden, {4, 2, 2},
                   {-0.573551219, -0.323072329, -0.519938337, -0.495805618, 0.208982232, -0.084940245, 0.133604134, -0.223233347,
                    -0.022227633, 0.449667018, 0.044182148, 0.414295041, -0.349691239, -0.753372473, -0.403089089, -0.715203096});
    EXPECT_FALSE(result.cell.defined());
    ops::sum(ops::square(result.output)).backward();
    expect_numbers(gru.own_parameters()[1].variable.grad(), {6, 2},
                   {-0.009826525, -0.007693865, -0.010623293, -0.008974464, 0.007664721, 0.007087974, 0.026152988, 0.004848429,
                    0.048844472, 0.035495691, 0.094306811, 0.066675502});
}

// torch.nn.LSTM(2, 2, batch_first=True), and one of two layers without biases that begins at given states.
TEST(Lstm, GivesPytorchsNumbers) {
    LSTM lstm(2, 2);
    const RecurrentOutput result = waving(lstm)(waves({2, 3, 2}, 10));
    expect_numbers(result.output, {2, 3, 2},
                   {-0.175921329, -0.151934643, -0.235938270, -0.222431033, -0.344996433, -0.127107403, -0.282573540, 0.035895117,
                    -0.293203609, -0.132107532, -0.261586287, -0.241195614});
    expect_numbers(result.hidden, {1, 2, 2}, {-0.344996433, -0.127107403, -0.261586287, -0.241195614});
    expect_numbers(result.cell, {1, 2, 2}, {-0.614027269, -0.186124140, -0.542417274, -0.318684500});

    LSTM two(2, 2, {.layers = 2, .bias = false});
    EXPECT_EQ(names_of(two), (std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "weight_ih_l1", "weight_hh_l1"}));
    const RecurrentOutput last = waving(two)(waves({2, 3, 2}, 10), waves({2, 2, 2}, 20), waves({2, 2, 2}, 30));
    expect_numbers(last.output, {2, 3, 2},
                   {0.086947091, 0.157775798, 0.038511395, 0.080330493, 0.024308577, 0.028121984, 0.019137739, -0.001693257,
                    0.018232162, -0.005199016, 0.012179741, -0.000822837});
    expect_numbers(last.cell, {2, 2, 2},
                   {-0.015182179, 0.028550937, 0.074949718, -0.039102950, 0.049622469, 0.055220781, 0.024479361, -0.001654163});
}

TEST(Recurrent, DropsBetweenItsLayersWhileItTrains) {
    LSTM dropping(2, 8, {.layers = 2, .dropout = 0.5}, 1), plain(2, 8, {.layers = 2}, 1);
    const Tensor x = waves({2, 3, 2}, 1).to(DType::f32);
    EXPECT_NE(dropping(x).output.value().to_vector(), plain(x).output.value().to_vector());
    dropping.eval();
    EXPECT_EQ(dropping(x).output.value().to_vector(), plain(x).output.value().to_vector());
}

TEST(Recurrent, RefusesShapesByName) {
    GRU gru(2, 3);
    expect_error([&] { gru(Tensor::zeros({2, 5})); }, "x has shape [2, 5], wanted [batch, time, 2]");
    expect_error([&] { gru(Tensor::zeros({2, 5, 2}), Tensor::zeros({2, 3})); }, "hidden has shape [2, 3], wanted [1, 2, 3]");
    expect_error([&] { GRU(0, 3); }, "0 inputs, 3 hidden units and 1 layers");
}

// torch.nn.Conv1d(4, 2, 3, stride=2, padding=2, dilation=2, groups=2), and (4, 1, 2, bias=False).
TEST(Conv1d, GivesPytorchsNumbers) {
    Conv1d conv(4, 2, 3, {.stride = 2, .padding = 2, .dilation = 2, .groups = 2});
    const Tensor x = waves({2, 4, 7}, 10);
    expect_numbers(waving(conv)(x), {2, 2, 4},
                   {0.216108491, 0.519002810, 0.485308363, 0.405290049, 0.318269598, 0.540335283, 0.597894136, 0.749623765,
                    0.255190400, 0.525734910, 0.407554222, 0.518049433, 0.541561912, 0.593776710, 0.551686273, 0.639454311});
    Conv1d narrow(4, 1, 2, {.bias = false});
    expect_numbers(waving(narrow)(x), {2, 1, 6},
                   {0.054511560, -0.480593478, -0.789667893, -0.727349160, -0.322946751, 0.233342561, -0.513018959, -0.798320149,
                    -0.708158899, -0.284939454, 0.272291469, 0.701459460});
    EXPECT_EQ(names_of(narrow), (std::vector<std::string>{"weight"}));
    double largest = 0;
    for (const double each : Conv1d(64, 64, 2, {.groups = 32}, 1).parameters().front().variable.value().to_vector())
        largest = std::max(largest, std::abs(each));
    EXPECT_TRUE(largest > 0.45 && largest <= 0.5) << largest;  // 2 channels of a group, 2 places
    expect_error([] { Conv1d(3, 4, 2, {.groups = 2}); }, "3 and 4 channels cannot be divided among 2 groups");
    expect_error([&] { narrow(waves({2, 4, 1}, 1)); }, "x has 1 places with its padding, but the kernel reaches over 2");
    expect_error([&] { narrow(waves({2, 3, 7}, 1)); }, "x has shape [2, 3, 7], wanted [batch, 4, time]");
}

TEST(DropoutModule, DropsWhileItTrains) {
    nn::Dropout drop(0.25);
    const Tensor ones = Tensor::full({8, 64}, 1);
    std::set<double> seen;
    double total = 0;
    for (const double each : drop(ones).value().to_vector()) {
        seen.insert(each);
        total += each;
    }
    EXPECT_EQ(seen.size(), 2u);  // 0 and 4 / 3
    EXPECT_NEAR(total / 512, 1, 0.2);
    drop.eval();
    EXPECT_EQ(drop(ones).value().to_vector(), ones.to_vector());
    expect_error([] { nn::Dropout(1); }, "dropout");
}

// As in PyTorch: two layers differ, and a program draws the same ones after the same manual_seed().
TEST(RootLayers, FollowFromTheThreadsGeneratorOrASeed) {
    const RandomState whatever(Generator{});
    const auto expect = [](const char* what, auto make) {
        const auto values = [&](auto... seed) { return make(seed...)->parameters().front().variable.value().to_vector(); };
        manual_seed(5);
        const std::vector<double> first = values(), second = values();
        EXPECT_NE(first, second) << what;
        manual_seed(5);
        EXPECT_EQ(values(), first) << what;
        EXPECT_EQ(values(7), values(7)) << what;
        EXPECT_NE(values(7), values(8)) << what;
    };
    expect("Linear", [](auto... seed) { return std::make_unique<Linear>(3, 2, true, seed...); });
    expect("Embedding", [](auto... seed) { return std::make_unique<nn::Embedding>(3, 2, seed...); });
    expect("Conv1d", [](auto... seed) { return std::make_unique<Conv1d>(3, 2, 2, Conv1dOptions(), seed...); });
    expect("GRU", [](auto... seed) { return std::make_unique<GRU>(3, 2, RecurrentOptions(), seed...); });
    expect("LSTM", [](auto... seed) { return std::make_unique<LSTM>(3, 2, RecurrentOptions(), seed...); });
}

TEST(ModuleList, NamesItsModulesByTheirPlaces) {
    struct Net : Module {
        ModuleList<Linear> layers{*this, "layers"};
        Net() {
            for (int i = 0; i < 2; ++i) layers.add(3, 3, i == 0);
        }
    } net;
    EXPECT_EQ(names_of(net), (std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.1.weight"}));
    EXPECT_EQ(net.layers.size(), 2);
    Variable x = Tensor::full({1, 3}, 1), y = net.layers[1](net.layers[0](x));
    for (const Linear& layer : net.layers) x = layer(x);
    EXPECT_EQ(x.value().to_vector(), y.value().to_vector());
    EXPECT_THROW(net.layers[2], std::out_of_range);
}

TEST(Roots, AreModulesWithoutAParent) {
    Linear linear(3, 2);
    EXPECT_EQ(names_of(linear), (std::vector<std::string>{"weight", "bias"}));
    EXPECT_EQ(linear(Tensor::zeros({2, 5, 3})).shape(), Shape({2, 5, 2}));
    {
        const NoGrad off;  // by the packed weight
        EXPECT_EQ(linear(Tensor::zeros({2, 5, 3})).shape(), Shape({2, 5, 2}));
    }
    EXPECT_EQ(LayerNorm(3)(Tensor::full({2, 2, 3}, 7)).value().to_vector(), std::vector<double>(12, 0));
    EXPECT_EQ(names_of(RMSNorm(3)), (std::vector<std::string>{"weight"}));
    Embedding table(10, 4);
    const Tensor looked_up = table(Tensor::from<std::int32_t>({7}, {1})).value();
    EXPECT_EQ(looked_up.to_vector(), table.weight().value().slice(7, 8).to_vector());  // times 1
}

}  // namespace
}  // namespace heddle::nn
