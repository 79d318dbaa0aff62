// Decoder layer i attends to the output of encoder layer i.
//
//     wrong    memory of decoder layer i = output of encoder layer i      the first one reads the output of a single encoder
//     layer right    memory of every decoder layer = output of the last         (Vaswani et al. 2017, section 3.1 and figure 1)
//
// The mistake trains, and shows no error as long as both sides have the same number of layers. The experiment changes the
// parameters of the encoder's last layer and measures each decoder layer's output.
#include <fmt/format.h>

#include <memory>

#include "apps/lab/kit.h"
#include "nn/layers.h"

namespace heddle::lab::paired_layers {
namespace {

constexpr std::int64_t layers = 6, d_model = 64, length = 10;

enum class Memory : std::uint8_t { last, layer };

struct Net : nn::Module {
    explicit Net(std::uint64_t seed) : Module(seed) {
        for (std::int64_t i = 0; i < layers; ++i) {
            encoder.push_back(std::make_unique<nn::EncoderLayer>(*this, fmt::format("encoder.{}", i), options()));
            decoder.push_back(std::make_unique<nn::DecoderLayer>(*this, fmt::format("decoder.{}", i), options()));
        }
    }
    static nn::TransformerOptions options() {
        return nn::TransformerOptions{.source_vocabulary = 1,
                                      .target_vocabulary = 1,
                                      .d_model = d_model,
                                      .heads = 4,
                                      .d_ff = 4 * d_model,
                                      .dropout = 0,
                                      .norm = nn::NormPlace::post}
            .complete();
    }
    // The output of each decoder layer.
    std::vector<Variable> outputs(const Variable& source, const Variable& target, Memory from) const {
        const Spans spans = Spans::equal(1, length);
        std::vector<Variable> memories, result;
        nn::Stream stream = nn::Layer::open(source, nn::NormPlace::post, nullptr);
        for (const auto& layer : encoder) memories.push_back((stream = layer->forward(stream, spans, nullptr)).sum);
        stream = nn::Layer::open(target, nn::NormPlace::post, nullptr);
        for (std::size_t i = 0; i < decoder.size(); ++i) {
            const Variable& memory = from == Memory::last ? memories.back() : memories[i];
            result.push_back((stream = decoder[i]->forward(stream, spans, memory, spans, nullptr)).sum);
        }
        return result;
    }
    std::vector<std::unique_ptr<nn::EncoderLayer>> encoder;
    std::vector<std::unique_ptr<nn::DecoderLayer>> decoder;
};

// Norm of the gradient that each encoder layer's parameters receive from the decoder's output.
std::vector<double> gradients_of_the_encoder(const Net& net, const Variable& source, const Variable& target, Memory from,
                                             const Tensor& cotangent) {
    for (const nn::Parameter& one : net.parameters()) Variable(one.variable).zero_grad();
    backward(net.outputs(source, target, from).back(), cotangent);
    std::vector<double> result;
    for (const auto& layer : net.encoder) result.push_back(gradient_norm(*layer));
    return result;
}

Result measure(const Options& options) {
    const Shape shape = {length, d_model};
    const Variable source(normal(shape, 1, key(options, "source"))), target(normal(shape, 1, key(options, "target")));
    const Tensor cotangent = normal(shape, 1, key(options, "cotangent"));
    Result result{.variants = {"last layer", "layer i"},
                  .findings = {{"decoder layers that change with the encoder's last layer, of 6"}}};
    for (std::int64_t layer = 1; layer <= layers; ++layer)
        result.findings.push_back({fmt::format("relative change of decoder layer {}", layer), {}});
    result.findings.push_back({"gradient in the encoder's last layer over its first"});
    picture::BarChart changes{.title = "change of each decoder layer when the encoder's last layer changes",
                              .y = {.label = "relative change", .from = 0},
                              .groups = {"layer 1", "layer 2", "layer 3", "layer 4", "layer 5", "layer 6"}};
    picture::LineChart gradients{.title = "gradient that each encoder layer receives",
                                 .x = {.label = "encoder layer", .from = 1, .to = layers},
                                 .y = {.label = "norm", .from = 0}};
    for (const Memory from : {Memory::last, Memory::layer}) {
        const std::string& name = result.variants[from == Memory::last ? 0 : 1];
        const Net net(key(options, "model"));
        const std::vector<double> norms = gradients_of_the_encoder(net, source, target, from, cotangent);
        picture::Series& line = gradients.series.emplace_back(picture::Series{.name = name, .y = norms});
        for (std::int64_t layer = 1; layer <= layers; ++layer) line.x.push_back(static_cast<double>(layer));

        const NoGrad no_grad;
        const std::vector<Variable> before = net.outputs(source, target, from);
        for (auto [part, values] : net.encoder.back()->named_tensors()) {
            const Tensor noise = normal(values.shape(), 0.1, key(options, part));
            for (std::int64_t i = 0; i < values.numel(); ++i) values.mutable_data<float>()[i] += noise.data<float>()[i];
            values.bump_version();
        }
        const std::vector<Variable> after = net.outputs(source, target, from);
        picture::Bars& bars = changes.bars.emplace_back(picture::Bars{name, {}});
        double changed = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
            bars.values.push_back(relative_change(before[i].value().to_vector(), after[i].value().to_vector()));
            changed += bars.values.back() > 0 ? 1 : 0;
            result.findings[i + 1].values.push_back(bars.values.back());
        }
        result.findings.front().values.push_back(changed);
        result.findings.back().values.push_back(norms.back() / norms.front());
    }
    result.figures = {
        {svg(mistakes_first(changes)), "Paired, the last encoder layer affects only the last decoder layer."},
        {svg(mistakes_first(gradients)), "Paired, the last encoder layer gets gradients from one decoder layer instead of six."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "paired-layers",
        .group = "The whole model",
        .title = "decoder layer i attends to the encoder's layer i",
        .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
        .why =
            "The output of the encoder's last layer is the result of all its layers; with paired layers, five of six decoder "
            "layers never see it. Only one decoder layer then reads the last encoder layer, and changing that leaves the other "
            "five bit for bit the same. With the last layer's output as the memory, every decoder layer uses the whole encoder, "
            "and the two stacks may have different numbers of layers.",
        .wrong = R"(
for (std::size_t i = 0; i < decoder.size(); ++i)
    y = decoder[i]->forward(y, spans, encoded[i].sum,
                            memory_spans, nullptr);
)",
        .right = R"(
const Variable memory = encoded.back().sum;  // of the last layer
for (std::size_t i = 0; i < decoder.size(); ++i)
    y = decoder[i]->forward(y, spans, memory,
                            memory_spans, nullptr);
)",
        .run = measure};
}

}  // namespace heddle::lab::paired_layers
