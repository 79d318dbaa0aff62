#include "apps/command/model_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/picture/diagram.h"
#include "apps/picture/text.h"
#include "apps/translation/run/output_folder.h"
#include "core/file.h"

namespace heddle::app {
namespace {

using picture::Box, picture::Diagram, picture::Part, picture::Point;
using Lines = std::vector<std::string>;

constexpr double box_width = 200;
constexpr double detour = 26;  // distance of the residual connection from the boxes
constexpr double gap = Diagram::gap;

struct Sublayer {
    Lines lines;
    Part part;
};

// Where a stack of layers is drawn; `side`: of its residual connections, -1 left, 1 right.
struct Column {
    double center;
    double side;
};

Point down(Point from, double by = gap) { return {from.x, from.y + by}; }

Lines norm_lines(const nn::TransformerOptions& o) {
    return {o.norm_kind == nn::NormKind::rms ? "RMS norm" : "layer norm",
            "eps " + picture::short_exponent(fmt::format("{}", o.norm_eps))};
}

std::string heads_text(const nn::TransformerOptions& o) {
    const std::string heads =
        o.heads == 1 ? fmt::format("1 head of {}", *o.head_dim) : fmt::format("{} heads of {}", o.heads, *o.head_dim);
    return o.key_heads == o.heads ? heads : fmt::format("{}, {} of keys", heads, *o.key_heads);
}

// What a drawing says of a projection of attention beside its extents.
std::string_view bias_text(const nn::TransformerOptions& o) { return *o.attention_bias ? "" : ", no bias"; }

std::string_view activation_text(ops::Activation activation) {
    switch (activation) {
        case ops::Activation::relu: return "ReLU";
        case ops::Activation::gelu: return "GELU";
        case ops::Activation::gelu_tanh: return "GELU (tanh)";
        case ops::Activation::silu: return "SiLU";
    }
    return "";
}

Sublayer attention_of(const nn::TransformerOptions& o, std::string name) {
    Sublayer sublayer{{std::move(name), fmt::format("{}{}", heads_text(o), bias_text(o))}, Part::attention};
    if (const double dropped = o.attention_dropout.value_or(o.dropout); dropped > 0)
        sublayer.lines.push_back(fmt::format("dropout {} of the weights", dropped));
    return sublayer;
}

Sublayer self_attention(const nn::TransformerOptions& o, bool causal) {
    Sublayer sublayer = attention_of(o, causal ? "causal self-attention" : "self-attention");
    if (o.positions == nn::Positions::rotary) sublayer.lines.push_back("rotary positions");
    if (o.positions == nn::Positions::alibi) sublayer.lines.push_back("ALiBi");
    return sublayer;
}

Sublayer cross_attention(const nn::TransformerOptions& o) { return attention_of(o, "cross-attention"); }

Sublayer feed_forward(const nn::TransformerOptions& o) {
    Sublayer sublayer{{"feed-forward", fmt::format("{} to {} to {}, {}{}", o.d_model, o.d_ff, o.d_model, o.gated ? "gated " : "",
                                                   activation_text(o.activation))},
                      Part::feed_forward};
    if (const double dropped = o.ffn_dropout.value_or(o.dropout); dropped > 0)
        sublayer.lines.push_back(fmt::format("dropout {} inside", dropped));
    return sublayer;
}

// Draws a line downwards and returns its end.
Point lead(Diagram& diagram, Point from, double by, const std::string& label = "") {
    diagram.line(from, down(from, by), label);
    return down(from, by);
}

std::string dropout_label(double probability) { return probability > 0 ? fmt::format("dropout {}", probability) : ""; }

// Draws a box below `from` with an arrow to it.
Box draw_below(Diagram& diagram, Point from, const Lines& lines, Part part, double width = box_width) {
    const Box box = diagram.box(from.x, from.y + gap, width, lines, part);
    diagram.arrow(from, box.above());
    return box;
}

// Draws a sublayer, its residual connection and its norm below `from`; `own` becomes the sublayer's box.
Point draw_sublayer(Diagram& diagram, const Column& column, Point from, const Sublayer& sublayer, const nn::TransformerOptions& o,
                    Box& own) {
    const Point fork = down(from, gap / 2);
    Point at = from;
    if (o.norm == nn::NormPlace::pre) at = draw_below(diagram, at, norm_lines(o), Part::norm).below();
    own = draw_below(diagram, at, sublayer.lines, sublayer.part);
    const Box sum = diagram.plus(column.center, own.bottom + gap);
    diagram.arrow(own.below(), sum.above(), dropout_label(o.dropout));
    const double x = column.center + column.side * (box_width / 2 + detour);
    const Point sum_side = column.side < 0 ? sum.from_left() : sum.from_right();
    const Point residual[] = {fork, {x, fork.y}, {x, sum_side.y}, sum_side};
    diagram.arrow(residual);
    if (o.norm == nn::NormPlace::pre) return sum.below();
    return draw_below(diagram, sum.below(), norm_lines(o), Part::norm).below();
}

// Draws a framed layer of the stack below `from`; `cross` becomes the box that reads the memory.
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

// Draws the way from tokens to the stack's input; `alone`: there is no other stack in the picture.
Point draw_embedding(Diagram& diagram, const Column& column, const std::string& tokens, std::int64_t vocabulary,
                     const nn::TransformerOptions& o, bool alone = false) {
    const Box data = diagram.box(column.center, 12, box_width, Lines{tokens}, Part::data);
    Lines lines = {"embedding", fmt::format("{} x {}", vocabulary, o.d_model)};
    if (o.one_embedding() && !alone) lines.push_back("one matrix for both sides");
    const Box table = draw_below(diagram, data.below(), lines, Part::embedding);
    if (are_in_attention(o.positions)) return table.below();
    const Box sum = diagram.plus(column.center, table.bottom + gap);
    diagram.arrow(table.below(), sum.above(), o.scale_embeddings ? fmt::format("times sqrt({})", o.d_model) : "");
    const double beside = column.center + column.side * (box_width / 2 + 74);
    Lines places = {"positions"};
    switch (o.positions) {
        case nn::Positions::sinusoidal: places.push_back("sine and cosine"); break;
        case nn::Positions::sines_first: places.push_back("sines first"); break;
        case nn::Positions::marian: places.push_back("sines of Marian"); break;
        case nn::Positions::learned:
            places.insert(places.end(), {"learned", fmt::format("{} x {}", o.position_table, o.d_model)});
            break;
        case nn::Positions::rotary:
        case nn::Positions::alibi: break;
    }
    // The top edge is above the stack's frame.
    const double level = sum.from_left().y, top = std::min(level - 22.5, level + 20 - Diagram::box_height(places.size()));
    const Box positions = diagram.box(beside, top, 118, places, Part::embedding);
    diagram.arrow({column.side < 0 ? positions.right : positions.left, level},
                  column.side < 0 ? sum.from_left() : sum.from_right());
    return sum.below();
}

Point draw_final_norm(Diagram& diagram, Point from, const nn::TransformerOptions& o) {
    return o.final_norm.value_or(false) ? draw_below(diagram, from, norm_lines(o), Part::norm).below() : from;
}

ModelPicture whole_model(const nn::TransformerOptions& o) {
    constexpr Column encoder{245, -1}, decoder{575, 1};
    Diagram diagram;
    Point source = draw_embedding(diagram, encoder, "source tokens", o.source_vocabulary, o);
    Point target = draw_embedding(diagram, decoder, "target tokens so far", o.target_vocabulary, o);
    const std::vector<Sublayer> encoder_layer = {self_attention(o, false), feed_forward(o)};
    const std::vector<Sublayer> decoder_layer = {self_attention(o, true), cross_attention(o), feed_forward(o)};
    source = draw_layer(diagram, encoder, lead(diagram, source, 26, dropout_label(o.dropout)), encoder_layer, o,
                        fmt::format("{} x", *o.encoder_layers));
    Box cross;
    target = draw_layer(diagram, decoder, lead(diagram, target, 26, dropout_label(o.dropout)), decoder_layer, o,
                        fmt::format("{} x", *o.decoder_layers), &cross);
    source = draw_final_norm(diagram, lead(diagram, source, 8), o);
    target = draw_final_norm(diagram, lead(diagram, target, 8), o);

    const double between = (encoder.center + decoder.center) / 2;
    const Point memory[] = {source, down(source), {between, source.y + gap}, {between, cross.from_left().y}, cross.from_left()};
    diagram.arrow(memory);
    diagram.note(encoder.center, source.y + gap + 16,
                 o.memory == nn::MemoryFrom::layer ? "memory: layer i reads the encoder's layer i" : "memory");

    Lines output_lines = {"linear", fmt::format("{} to {}", o.d_model, o.target_vocabulary)};
    if (o.output_is_tied()) output_lines.push_back("the embedding matrix again");
    if (o.output_is_tied() && o.output_bias.value_or(false)) output_lines.push_back("and a bias");
    const Box output = draw_below(diagram, target, output_lines, Part::projection);
    const Box softmax = draw_below(diagram, output.below(), {"softmax"}, Part::data);
    diagram.note(decoder.center, softmax.bottom + 20, "probabilities of the next token");
    return {"model",
            {diagram.svg(820, softmax.bottom + 34, "the whole model"),
             fmt::format("The whole model: {} encoder and {} decoder layers of width {}.", *o.encoder_layers, *o.decoder_layers,
                         o.d_model)}};
}

ModelPicture block(const nn::TransformerOptions& o, const std::string& name, const std::vector<Sublayer>& sublayers,
                   const std::string& caption) {
    const bool decodes = sublayers.size() == 3;
    const Column column{decodes ? 300.0 : box_width / 2 + 16, 1};
    Diagram diagram;
    const std::string shape = fmt::format("[tokens, {}]", o.d_model);
    const Box in = diagram.box(column.center, 12, box_width, Lines{"input", shape}, Part::data);
    Box cross;
    const Point at = draw_layer(diagram, column, in.below(), sublayers, o, "", decodes ? &cross : nullptr);
    if (decodes) {
        const Lines lines = {"memory", fmt::format("[source tokens, {}]", o.d_model)};
        const double level = cross.from_left().y;
        const Box memory = diagram.box(91, level - Diagram::box_height(lines.size()) / 2, 150, lines, Part::data);
        diagram.arrow(memory.from_right(), cross.from_left());
    }
    const Box out = draw_below(diagram, at, {"output", shape}, Part::data);
    return {name, {diagram.svg(column.center + box_width / 2 + detour + 16, out.bottom + 12, caption), caption + "."}};
}

// The picture of the encoder.
ModelPicture encoder(const nn::TransformerOptions& o) {
    constexpr Column column{245, -1};
    Diagram diagram;
    Point at = draw_embedding(diagram, column, "source tokens", o.source_vocabulary, o, true);
    at = draw_layer(diagram, column, lead(diagram, at, 26, dropout_label(o.dropout)), {self_attention(o, false), feed_forward(o)},
                    o, fmt::format("{} x", *o.encoder_layers));
    at = draw_final_norm(diagram, lead(diagram, at, 8), o);
    const Box out = draw_below(diagram, at, {"output", fmt::format("[tokens, {}]", o.d_model)}, Part::data);
    return {"encoder",
            {diagram.svg(column.center + box_width / 2 + 30, out.bottom + 12, "the encoder"),
             fmt::format("The encoder alone: {} layers of width {}.", *o.encoder_layers, o.d_model)}};
}

// Draws the attention of query, key and value, each [rows, head_dim], below them. Returns the box of the weighted sum.
Box draw_attention(Diagram& diagram, const std::array<Box, 3>& inputs, const nn::TransformerOptions& o, bool causal) {
    const auto& [query, key, value] = inputs;
    const double left = (query.below().x + key.below().x) / 2, middle = key.below().x;
    const Box product =
        diagram.box(left, query.bottom + gap, box_width, Lines{"query times key", "[queries, keys]"}, Part::projection);
    diagram.arrow(query.below(), {left - 45, product.top});
    diagram.arrow(key.below(), {left + 45, product.top});
    const Box scaled =
        draw_below(diagram, product.below(), {fmt::format("times 1 / sqrt({})", *o.head_dim), "variance 1 again"}, Part::norm);
    const Lines rule = causal ? Lines{"causal mask", "no token sees a later one"} : Lines{"mask", "hidden places take no part"};
    const Box mask = draw_below(diagram, scaled.below(), rule, Part::attention);
    if (causal) {
        constexpr double side = 56;
        const Box triangle = diagram.triangle(mask.right + 26, mask.from_right().y - side / 2, side, 4);
        diagram.line(mask.from_right(), triangle.from_left());
        diagram.note(triangle.below().x, triangle.bottom + 16, "for 4 tokens");
    }
    const Box softmax = draw_below(diagram, mask.below(), {"softmax", "weights of a row sum to 1"}, Part::attention);
    const Box sum = diagram.box(middle, softmax.bottom + gap + 8, 260, Lines{"weights times value"}, Part::projection);
    diagram.arrow(softmax.below(), {left, sum.top}, dropout_label(o.attention_dropout.value_or(o.dropout)));
    const Point from_value[] = {value.below(), {value.below().x, sum.from_right().y}, sum.from_right()};
    diagram.arrow(from_value);
    return sum;
}

ModelPicture attention(const nn::TransformerOptions& o) {
    Diagram diagram;
    const std::string queries = fmt::format("[queries, {}]", *o.head_dim), keys = fmt::format("[keys, {}]", *o.head_dim);
    const std::array inputs = {diagram.box(110, 12, 170, Lines{"query", queries}, Part::data),
                               diagram.box(300, 12, 170, Lines{"key", keys}, Part::data),
                               diagram.box(490, 12, 170, Lines{"value", keys}, Part::data)};
    const Box sum = draw_attention(diagram, inputs, o, false);
    const Box out = draw_below(diagram, sum.below(), {"output", queries}, Part::data, 170);
    return {"attention",
            {diagram.svg(590, out.bottom + 12, "scaled dot-product attention"), "Scaled dot-product attention of one head."}};
}

// Draws an arrow out of the picture and returns its lower end.
double draw_output(Diagram& diagram, const Box& last, const nn::TransformerOptions& o) {
    diagram.arrow(last.below(), down(last.below()));
    diagram.note(last.below().x, last.bottom + gap + 16, fmt::format("output [tokens, {}]", o.d_model));
    return last.bottom + gap + 28;
}

// The picture of a head with its projections: those before it, and the one after it if it is the only head.
ModelPicture one_head(const nn::TransformerOptions& o, bool causal) {
    Diagram diagram;
    const Box rows = diagram.box(300, 12, box_width, Lines{"input", fmt::format("[tokens, {}]", o.d_model)}, Part::data);
    const std::array<std::string, 3> names = {"query", "key", "value"};
    std::array<Box, 3> inputs;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const double center = 110 + 190 * static_cast<double>(i), fork = rows.bottom + gap / 2;
        inputs[i] = diagram.box(center, rows.bottom + 1.5 * gap, 170,
                                Lines{"linear: " + names[i], fmt::format("{} to {}{}", o.d_model, *o.head_dim, bias_text(o))},
                                Part::projection);
        const Point turn[] = {{300, fork}, {center, fork}, inputs[i].above()};
        if (center == 300)
            diagram.arrow(rows.below(), inputs[i].above());
        else
            diagram.arrow(turn);
    }
    Box last = draw_attention(diagram, inputs, o, causal);
    last = draw_below(diagram, last.below(), {"output of the head", fmt::format("[tokens, {}]", *o.head_dim)}, Part::data, 260);
    double bottom = last.bottom + 12;
    if (o.heads == 1) {
        last =
            draw_below(diagram, last.below(), {"linear: output", fmt::format("{} to {}{}", *o.head_dim, o.d_model, bias_text(o))},
                       Part::projection, 260);
        bottom = draw_output(diagram, last, o);
    }
    const std::string what = fmt::format("One {}head of {} columns", causal ? "causal " : "", *o.head_dim);
    return {causal ? "causal-head" : "head", {diagram.svg(590, bottom, what), what + "."}};
}

ModelPicture several_heads(const nn::TransformerOptions& o) {
    Diagram diagram;
    const std::int64_t width = o.heads * *o.head_dim;
    const char* const names[] = {"query", "key", "value"};
    const double centers[] = {110, 300, 490};
    const auto shown = static_cast<std::size_t>(std::min<std::int64_t>(o.heads, 3));  // number of heads drawn, one behind another
    const double heads_top = 150;
    Box last;
    for (std::size_t i = shown; i-- > 0;) {
        const double shift = 6.0 * static_cast<double>(i);
        last = diagram.box(300 + shift, heads_top - shift, 420,
                           Lines{"attention", o.heads == 1 ? heads_text(o) : heads_text(o) + ", each with columns of its own"},
                           Part::attention);
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const Box projection =
            diagram.box(centers[i], 60, 150,
                        Lines{fmt::format("linear: {}", names[i]),
                              fmt::format("{} to {}{}", o.d_model, i == 0 ? width : *o.key_heads * *o.head_dim, bias_text(o))},
                        Part::projection);
        diagram.note(centers[i], 24, i == 0 ? "input" : "input, or memory");
        diagram.arrow({centers[i], 30}, projection.above());
        diagram.arrow(projection.below(), {centers[i], heads_top - 6.0 * static_cast<double>(shown - 1)});
    }
    if (o.heads > 1)
        last = draw_below(diagram, last.below(), {"heads side by side", fmt::format("{} columns", width)}, Part::data, 260);
    last = draw_below(diagram, last.below(), {"linear: output", fmt::format("{} to {}{}", width, o.d_model, bias_text(o))},
                      Part::projection, 260);
    const double bottom = draw_output(diagram, last, o);
    return {"heads", {diagram.svg(590, bottom, "multi-head attention"), "Attention with several heads."}};
}

}  // namespace

std::vector<ModelPicture> model_pictures(const nn::TransformerOptions& options) {
    return {whole_model(options),
            encoder(options),
            block(options, "encoder-block", {self_attention(options, false), feed_forward(options)}, "A layer of the encoder"),
            block(options, "decoder-block", {self_attention(options, true), cross_attention(options), feed_forward(options)},
                  "A layer of the decoder"),
            attention(options),
            one_head(options, false),
            one_head(options, true),
            several_heads(options)};
}

void write_model_pictures(const std::filesystem::path& folder, const nn::TransformerOptions& options) {
    make_folder(folder, "--pictures");
    const std::vector<ModelPicture> pictures = model_pictures(options);
    const auto file_of = [&](const ModelPicture& one) { return folder / (one.name + ".svg"); };
    picture::check_replaceable(folder / "index.html");  // before any picture is replaced
    for (const ModelPicture& one : pictures) picture::check_picture_replaceable(file_of(one));
    picture::Page page("The model in pictures");
    for (const ModelPicture& one : pictures) {
        page.figure(one.figure);
        write_file_atomically(file_of(one), picture::standalone(one.figure.svg));
    }
    page.write(folder / "index.html");
}

}  // namespace heddle::app
