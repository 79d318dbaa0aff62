#include "apps/model_pictures.h"

#include <fmt/format.h>

#include "apps/picture/diagram.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using picture::Box, picture::Diagram, picture::Part, picture::Point;
using Lines = std::vector<std::string>;

constexpr double box_width = 200;
constexpr double detour = 26;  // of the residual connection, from the boxes
constexpr double gap = Diagram::gap;

struct Sublayer {
    Lines lines;
    Part part;
};

// What a stack of layers reads and writes; `side`: where residual connections run, -1 left, 1 right.
struct Column {
    double center;
    double side;
};

Point down(Point from, double by = gap) { return {from.x, from.y + by}; }

Lines norm_lines(const nn::TransformerOptions& o) { return {"layer norm", fmt::format("eps {}", o.norm_eps)}; }

std::string heads_text(const nn::TransformerOptions& o) {
    return o.heads == 1 ? fmt::format("1 head of {}", o.head_dim) : fmt::format("{} heads of {}", o.heads, o.head_dim);
}

std::string_view activation_text(ops::Activation activation) {
    switch (activation) {
        case ops::Activation::relu: return "ReLU";
        case ops::Activation::gelu: return "GELU";
        case ops::Activation::gelu_tanh: return "GELU (tanh)";
    }
    return "";
}

Sublayer attention_of(const nn::TransformerOptions& o, std::string name) {
    Sublayer sublayer{{std::move(name), heads_text(o)}, Part::attention};
    if (const double dropped = o.attention_dropout.value_or(o.dropout); dropped > 0)
        sublayer.lines.push_back(fmt::format("dropout {} of the weights", dropped));
    return sublayer;
}

Sublayer self_attention(const nn::TransformerOptions& o, bool causal) {
    return attention_of(o, causal ? "causal self-attention" : "self-attention");
}

Sublayer cross_attention(const nn::TransformerOptions& o) { return attention_of(o, "cross-attention"); }

Sublayer feed_forward(const nn::TransformerOptions& o) {
    Sublayer sublayer{
        {"feed-forward", fmt::format("{} to {} to {}, {}", o.d_model, o.d_ff, o.d_model, activation_text(o.activation))},
        Part::feed_forward};
    if (const double dropped = o.ffn_dropout.value_or(o.dropout); dropped > 0)
        sublayer.lines.push_back(fmt::format("dropout {} inside", dropped));
    return sublayer;
}

// A piece of the way down, and where it ends.
Point lead(Diagram& diagram, Point from, double by, const std::string& label = "") {
    diagram.line(from, down(from, by), label);
    return down(from, by);
}

std::string dropout_label(double probability) { return probability > 0 ? fmt::format("dropout {}", probability) : ""; }

// A sublayer, its residual connection and its norm, below `from`; `own` becomes the sublayer's box.
Point draw_sublayer(Diagram& diagram, const Column& column, Point from, const Sublayer& sublayer, const nn::TransformerOptions& o,
                    Box& own) {
    const Point fork = down(from, gap / 2);
    Point at = from;
    if (o.norm == nn::NormPlace::pre) {
        const Box norm = diagram.box(column.center, at.y + gap, box_width, norm_lines(o), Part::norm);
        diagram.arrow(at, norm.above());
        at = norm.below();
    }
    own = diagram.box(column.center, at.y + gap, box_width, sublayer.lines, sublayer.part);
    diagram.arrow(at, own.above());
    const Box sum = diagram.plus(column.center, own.bottom + gap);
    diagram.arrow(own.below(), sum.above(), dropout_label(o.dropout));
    const double x = column.center + column.side * (box_width / 2 + detour);
    const Point sum_side = column.side < 0 ? sum.from_left() : sum.from_right();
    const Point residual[] = {fork, {x, fork.y}, {x, sum_side.y}, sum_side};
    diagram.arrow(residual);
    if (o.norm == nn::NormPlace::pre) return sum.below();
    const Box norm = diagram.box(column.center, sum.bottom + gap, box_width, norm_lines(o), Part::norm);
    diagram.arrow(sum.below(), norm.above());
    return norm.below();
}

// A layer of the stack below `from` in its frame; `cross` becomes the box that reads the memory.
Point draw_layer(Diagram& diagram, const Column& column, Point from, const std::vector<Sublayer>& sublayers,
                 const nn::TransformerOptions& o, std::string_view frame_label, Box* cross = nullptr) {
    Point at = from;
    for (std::size_t i = 0; i < sublayers.size(); ++i) {
        Box own;
        at = draw_sublayer(diagram, column, at, sublayers[i], o, own);
        if (cross != nullptr && i == 1) *cross = own;
    }
    const double wide = box_width / 2 + detour + 14, narrow = box_width / 2 + 14;
    if (!frame_label.empty())
        diagram.frame({column.center - (column.side < 0 ? wide : narrow), from.y - 4,
                       column.center + (column.side < 0 ? narrow : wide), at.y + 8},
                      frame_label, column.side > 0);
    return at;
}

// From tokens to the stack's input.
Point draw_embedding(Diagram& diagram, const Column& column, const std::string& tokens, std::int64_t vocabulary,
                     const nn::TransformerOptions& o) {
    const Box data = diagram.box(column.center, 12, box_width, Lines{tokens}, Part::data);
    Lines lines = {"embedding", fmt::format("{} x {}", vocabulary, o.d_model)};
    if (o.one_embedding()) lines.push_back("one matrix for both sides");
    const Box table = diagram.box(column.center, data.bottom + gap, box_width, lines, Part::embedding);
    diagram.arrow(data.below(), table.above());
    const Box sum = diagram.plus(column.center, table.bottom + gap);
    diagram.arrow(table.below(), sum.above(), o.scale_embeddings ? fmt::format("times sqrt({})", o.d_model) : "");
    const double beside = column.center + column.side * (box_width / 2 + 74);
    const Box positions =
        diagram.box(beside, sum.top - 13.5, 118,
                    Lines{"positions", o.positions == nn::Positions::learned ? "learned" : "sine and cosine"}, Part::embedding);
    diagram.arrow(column.side < 0 ? positions.from_right() : positions.from_left(),
                  column.side < 0 ? sum.from_left() : sum.from_right());
    return sum.below();
}

Point draw_final_norm(Diagram& diagram, const Column& column, Point from, const nn::TransformerOptions& o) {
    if (!o.final_norm.value_or(false)) return from;
    const Box norm = diagram.box(column.center, from.y + gap, box_width, norm_lines(o), Part::norm);
    diagram.arrow(from, norm.above());
    return norm.below();
}

ModelPicture whole_model(const nn::TransformerOptions& o) {
    constexpr Column encoder{245, -1}, decoder{575, 1};
    Diagram diagram;
    Point source = draw_embedding(diagram, encoder, "source tokens", o.source_vocabulary, o);
    Point target = draw_embedding(diagram, decoder, "target tokens so far", o.target_vocabulary, o);
    const std::vector<Sublayer> encoder_layer = {self_attention(o, false), feed_forward(o)};
    const std::vector<Sublayer> decoder_layer = {self_attention(o, true), cross_attention(o), feed_forward(o)};
    source = draw_layer(diagram, encoder, lead(diagram, source, 26, dropout_label(o.dropout)), encoder_layer, o,
                        fmt::format("{} x", o.encoder_layers));
    Box cross;
    target = draw_layer(diagram, decoder, lead(diagram, target, 26, dropout_label(o.dropout)), decoder_layer, o,
                        fmt::format("{} x", o.decoder_layers), &cross);
    source = draw_final_norm(diagram, encoder, lead(diagram, source, 8), o);
    target = draw_final_norm(diagram, decoder, lead(diagram, target, 8), o);

    const double between = (encoder.center + decoder.center) / 2;
    const Point memory[] = {source, down(source), {between, source.y + gap}, {between, cross.from_left().y}, cross.from_left()};
    diagram.arrow(memory);
    diagram.note(encoder.center, source.y + gap + 16,
                 o.memory == nn::MemoryFrom::layer ? "memory: layer i reads the encoder's layer i" : "memory");

    Lines output_lines = {"linear", fmt::format("{} to {}", o.d_model, o.target_vocabulary)};
    if (o.output_is_tied()) output_lines.push_back("the embedding matrix again");
    const Box output = diagram.box(decoder.center, target.y + gap, box_width, output_lines, Part::projection);
    diagram.arrow(target, output.above());
    const Box softmax = diagram.box(decoder.center, output.bottom + gap, box_width, Lines{"softmax"}, Part::data);
    diagram.arrow(output.below(), softmax.above());
    diagram.note(decoder.center, softmax.bottom + 20, "probabilities of the next token");
    return {"model",
            {diagram.svg(820, softmax.bottom + 34, "the whole model"),
             fmt::format("The whole model: {} encoder and {} decoder layers of width {}.", o.encoder_layers, o.decoder_layers,
                         o.d_model)}};
}

ModelPicture block(const nn::TransformerOptions& o, const std::string& name, const std::vector<Sublayer>& sublayers,
                   const std::string& caption) {
    constexpr Column column{300, 1};
    Diagram diagram;
    const std::string shape = fmt::format("[tokens, {}]", o.d_model);
    const Box in = diagram.box(column.center, 12, box_width, Lines{"input", shape}, Part::data);
    Box cross;
    const bool decodes = sublayers.size() == 3;
    const Point at = draw_layer(diagram, column, in.below(), sublayers, o, "", decodes ? &cross : nullptr);
    if (decodes) {
        const Box memory =
            diagram.box(90, cross.top, 150, Lines{"memory", fmt::format("[source tokens, {}]", o.d_model)}, Part::data);
        diagram.arrow(memory.from_right(), cross.from_left());
    }
    const Box out = diagram.box(column.center, at.y + gap, box_width, Lines{"output", shape}, Part::data);
    diagram.arrow(at, out.above());
    return {name, {diagram.svg(column.center + box_width / 2 + detour + 16, out.bottom + 12, caption), caption + "."}};
}

ModelPicture attention(const nn::TransformerOptions& o) {
    Diagram diagram;
    const std::string shape = fmt::format("tokens, {}]", o.head_dim);
    const Box query = diagram.box(110, 12, 170, Lines{"query", "[target " + shape}, Part::data);
    const Box key = diagram.box(300, 12, 170, Lines{"key", "[source " + shape}, Part::data);
    const Box value = diagram.box(490, 12, 170, Lines{"value", "[source " + shape}, Part::data);
    const Box product = diagram.box(205, query.bottom + gap, box_width, Lines{"query times key"}, Part::projection);
    diagram.arrow(query.below(), {160, product.top});
    diagram.arrow(key.below(), {250, product.top});
    const Sublayer steps[] = {
        {{fmt::format("times 1 / sqrt({})", o.head_dim), "variance 1 again"}, Part::norm},
        {{"mask", "hidden places take no part"}, Part::attention},
        {{"softmax", "weights of a row sum to 1"}, Part::attention},
    };
    Box last = product;
    for (const Sublayer& step : steps) {
        const Box next = diagram.box(205, last.bottom + gap, box_width, step.lines, step.part);
        diagram.arrow(last.below(), next.above());
        last = next;
    }
    const double dropped = o.attention_dropout.value_or(o.dropout);
    const Box sum = diagram.box(300, last.bottom + gap + 8, 260, Lines{"weights times value"}, Part::projection);
    diagram.arrow(last.below(), {205, sum.top}, dropout_label(dropped));
    const Point from_value[] = {value.below(), {490, sum.from_right().y}, sum.from_right()};
    diagram.arrow(from_value);
    const Box out = diagram.box(300, sum.bottom + gap, 170, Lines{"output", "[target " + shape}, Part::data);
    diagram.arrow(sum.below(), out.above());
    return {"attention",
            {diagram.svg(590, out.bottom + 12, "scaled dot-product attention"), "Scaled dot-product attention of one head."}};
}

ModelPicture several_heads(const nn::TransformerOptions& o) {
    Diagram diagram;
    const std::int64_t width = o.heads * o.head_dim;
    const char* const names[] = {"query", "key", "value"};
    const double centers[] = {110, 300, 490};
    constexpr std::size_t shown = 3;  // heads behind each other
    const double heads_top = 150;
    Box front;
    for (std::size_t i = shown; i-- > 0;) {
        const double shift = 6.0 * static_cast<double>(i);
        front = diagram.box(300 + shift, heads_top - shift, 420,
                            Lines{"attention", heads_text(o) + ", each with columns of its own"}, Part::attention);
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const Box projection =
            diagram.box(centers[i], 60, 150,
                        Lines{fmt::format("linear: {}", names[i]), fmt::format("{} to {}", o.d_model, width)}, Part::projection);
        diagram.note(centers[i], 24, i == 0 ? "input" : "input, or memory");
        diagram.arrow({centers[i], 30}, projection.above());
        diagram.arrow(projection.below(), {centers[i], heads_top - 6.0 * (shown - 1)});
    }
    const Box join =
        diagram.box(300, front.bottom + gap, 260, Lines{"heads side by side", fmt::format("{} columns", width)}, Part::data);
    diagram.arrow(front.below(), join.above());
    const Box output = diagram.box(300, join.bottom + gap, 260,
                                   Lines{"linear: output", fmt::format("{} to {}", width, o.d_model)}, Part::projection);
    diagram.arrow(join.below(), output.above());
    diagram.arrow(output.below(), down(output.below()));
    diagram.note(300, output.bottom + gap + 16, fmt::format("output [tokens, {}]", o.d_model));
    return {"heads", {diagram.svg(590, output.bottom + gap + 28, "multi-head attention"), "Attention with several heads."}};
}

}  // namespace

std::vector<ModelPicture> model_pictures(const nn::TransformerOptions& options) {
    return {whole_model(options),
            block(options, "encoder-block", {self_attention(options, false), feed_forward(options)}, "A layer of the encoder"),
            block(options, "decoder-block", {self_attention(options, true), cross_attention(options), feed_forward(options)},
                  "A layer of the decoder"),
            attention(options), several_heads(options)};
}

void write_model_pictures(const std::filesystem::path& folder, const nn::TransformerOptions& options) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail_with("--pictures {}: the folder cannot be made: {}", folder.string(), error.message());
    picture::Page page("The model in pictures");
    for (const ModelPicture& one : model_pictures(options)) {
        page.figure(one.figure);
        write_file_atomically(folder / (one.name + ".svg"), picture::standalone(one.figure.svg));
    }
    page.write(folder / "index.html");
}

}  // namespace heddle::app
