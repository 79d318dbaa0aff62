// An encoder-decoder "from zero", built block by block in a notebook: its statements, measured on the preset `notebook`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/chapters/chapter.h"
#include "apps/chapters/kit.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "apps/picture/text.h"
#include "nn/layers.h"

namespace heddle::chapters {
namespace {

constexpr std::int64_t printed = 100;  // positions in the table as printed in the notebook
constexpr std::int64_t notebook_d_model = 512;
constexpr std::int64_t words = 1000;

Statement rows_of_a_table(const Options& options) {
    constexpr std::int64_t tokens = 100;
    const Variable table(lab::normal({words, notebook_d_model}, 1, lab::key(options, "table")));
    const nn::Sentences sentence = sentences(1, tokens, words, lab::key(options, "tokens"));
    Tensor one_hot = Tensor::zeros({tokens, words}, DType::f32);
    for (std::int64_t row = 0; row < tokens; ++row)
        one_hot.mutable_data<float>()[row * words + sentence.tokens.data<std::int32_t>()[row]] = 1;
    const NoGrad none;
    const double difference = lab::largest_difference(ops::embedding(table, sentence.tokens, sentence.spans).value(),
                                                      ops::matmul(Variable(one_hot), table).value());
    return {"An embedding is a row of a table: the same as the product of a one-hot vector with the table, without the product.",
            {{"largest difference", difference},
             {"mult-adds of the product, 100 tokens", static_cast<double>(tokens * words * notebook_d_model)},
             {"mult-adds of the row", 0}},
            difference == 0};
}

Statement every_code_is_its_own(const PositionCodes& codes) {
    double least = std::numeric_limits<double>::infinity(), least_of_printed = least;
    for (std::int64_t a = 0; a < codes.rows; ++a)
        for (std::int64_t b = 0; b < a; ++b) {
            const double distance = codes.distance(a, b);
            least = std::min(least, distance);
            if (a < printed) least_of_printed = std::min(least_of_printed, distance);
        }
    return {"No two positions have the same code.",
            {{"least distance of two codes, 100 positions", least_of_printed},
             {fmt::format("least distance of two codes, {} positions", codes.rows), least},
             {"norm of a code", codes.norm(0)}},
            least > 0,
            {},
            {codes.first(printed).picture("position codes (100, 512)", "The table as the notebook prints it.")}};
}

// Each pair (sin, cos) turns by the same angle from each position to the next, so all neighbours are equally far apart.
Statement neighbours_are_alike(const PositionCodes& codes) {
    double least = std::numeric_limits<double>::infinity(), greatest = 0;
    for (std::int64_t row = 1; row < codes.rows; ++row) {
        least = std::min(least, codes.distance(row, row - 1));
        greatest = std::max(greatest, codes.distance(row, row - 1));
    }
    std::vector<double> cosines;
    for (std::int64_t offset = 0; offset < printed; ++offset) cosines.push_back(codes.cosine(0, offset));
    std::size_t falls_to = 0;
    while (falls_to + 1 < cosines.size() && cosines[falls_to + 1] < cosines[falls_to]) ++falls_to;
    return {"Codes change smoothly: neighbours are equally far apart everywhere, and likeness falls with the distance.",
            {{"least distance of neighbours", least},
             {"greatest distance of neighbours", greatest},
             {"cosine, 1 position apart", codes.cosine(0, 1)},
             {"cosine, 10 positions apart", codes.cosine(0, 10)},
             {"likeness falls up to this distance", static_cast<double>(falls_to)}},
            greatest - least < 1e-9 && falls_to >= 3,
            {},
            {{svg(picture::LineChart{.title = "how alike two codes are",
                                     .x = {.label = "how far the positions are apart"},
                                     .y = {.label = "cosine", .from = 0},
                                     .series = {lab::curve("cosine of the codes", cosines)}}),
              "Near positions have similar codes; far ones all differ about equally."}}};
}

Statement codes_are_bounded(const PositionCodes& codes) {
    double largest = 0;
    for (const double value : codes.values) largest = std::max(largest, std::abs(value));
    double least_norm = std::numeric_limits<double>::infinity(), greatest_norm = 0;
    for (std::int64_t row = 0; row < codes.rows; ++row) {
        least_norm = std::min(least_norm, codes.norm(row));
        greatest_norm = std::max(greatest_norm, codes.norm(row));
    }
    return {"However long the text, all values lie between -1 and 1.",
            {{"largest value", largest}, {"least norm of a code", least_norm}, {"greatest norm of a code", greatest_norm}},
            largest <= 1 && greatest_norm - least_norm < 1e-9};
}

Statement codes_go_on(const PositionCodes& codes) {
    const PositionCodes table = position_codes(printed, notebook_d_model);
    const double difference = lab::largest_difference(table.values, codes.first(printed).values);
    const double error = codes.shift_error(printed / 2);
    return {
        "The codes extend to lengths that were never seen: a longer table begins with the shorter one, and the same rotation "
        "leads from any position to the one so many places on.",
        {{fmt::format("largest difference of the first {} rows", printed), difference},
         {fmt::format("largest error of the rotation by {}, {} positions", printed / 2, codes.rows), error}},
        difference == 0 && error < 1e-9};
}

// Two sentences of 5 and 9 tokens in a padded batch, and the shorter one alone.
Statement padding_changes_nothing(const nn::Transformer& model, const Options& options) {
    constexpr std::int64_t time = 9, length = 5;
    const nn::Sentences batch = sentences(2, time, words, lab::key(options, "padded"));
    const Spans padded = Spans::padded(std::vector<std::int64_t>{length, time}, time);
    const NoGrad none;
    nn::AttentionMaps maps;
    const Tensor together = model.encode(batch.tokens, padded, &maps).value();
    const Tensor alone = model.encode(batch.tokens.slice(0, length), Spans::equal(1, length)).value();
    double on_padding = 0;
    for (const Tensor& map : maps.encoder) {
        const std::vector<double> weights = map.slice(0, 1).to_vector();
        for (std::size_t i = 0; i < weights.size(); ++i)
            if (i % time >= length) on_padding = std::max(on_padding, weights[i]);
    }
    const double difference = lab::largest_difference(together.slice(0, length), alone);
    return {"Padding that is masked out changes nothing: a sentence's rows are the same in a padded batch and alone.",
            {{"largest difference", difference}, {"largest weight on padding", on_padding}},
            difference == 0 && on_padding == 0};
}

// Input [3, 4, 512] through the block and the norm after it, as in torchinfo's table.
Statement tokens_by_themselves(nn::Transformer& model, const Options& options) {
    constexpr std::int64_t batch = 3, time = 4;
    const nn::ModelSummary summary =
        nn::summarize(model, {.sentences = batch, .source = time, .target = time}, "encoder.layers.0.feed_forward*");
    const nn::ListedSummary listed = nn::listed(summary.total.forward, summary.total.parameters, batch);
    nn::Module root(options.seed);
    const nn::FeedForward block(root, "block", notebook_d_model, 2048, model.options().activation);
    const NoGrad none;
    const Variable x(lab::normal({batch * time, notebook_d_model}, 1, lab::key(options, "rows of a block")));
    const double difference =
        lab::largest_difference(block.forward(x).value().slice(5, 6), block.forward(Variable(x.value().slice(5, 6))).value());
    const auto parameters = [&](const char* module) {
        return static_cast<double>(row_of(summary, std::string("encoder.layers.0.feed_forward") + module).parameters);
    };
    return {"The feed-forward block treats each token by itself: a row alone gives what it gives among others.",
            {{"largest difference", difference},
             {"parameters of the inner layer", parameters(".inner")},
             {"parameters of the outer layer", parameters(".outer")},
             {"parameters of the norm", parameters("_norm")},
             {"parameters together", static_cast<double>(summary.total.parameters)},
             {"mult-adds as torchinfo counts, [3, 4, 512]", static_cast<double>(listed.multiply_adds)},
             {"mult-adds, [3, 4, 512]", static_cast<double>(summary.total.forward.multiply_adds)}},
            difference == 0};
}

std::string shape_of(const nn::SummaryRow& row, std::int64_t sentences) {
    const Shape& shape = *row.forward.output;
    return fmt::format("[{}, {}, {}]", sentences, shape[0] / sentences, shape[1]);
}

// 32 sentences of 50 tokens on each side.
Statement torchinfo_counts_sentences(nn::Transformer& model) {
    const nn::SummaryBatch batch{.sentences = 32, .source = 50, .target = 50};
    const nn::ModelSummary summary = nn::summarize(model, batch);
    const nn::ModuleTrace& pass = summary.total.forward;
    const nn::ListedSummary listed = nn::listed(pass, summary.total.parameters, batch.sentences);
    const auto megabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
    std::string printed;
    for (const char* module : {"encoder.layers.0", "encoder", "decoder.layers.0", "decoder", ""}) {
        const nn::SummaryRow& row = row_of(summary, module);
        printed += fmt::format("{:<18}{:<16}{:>11}\n", *module == 0 ? "the whole model" : module, shape_of(row, batch.sentences),
                               picture::whole_number(static_cast<double>(row.parameters)));
    }
    return {
        "torchinfo multiplies each parameter with the number of sentences: the length of the sentences and the products inside "
        "attention are missing from its count.",
        {{"mult-adds as torchinfo counts, 32 x 50", static_cast<double>(listed.multiply_adds)},
         {"parameters x 32", static_cast<double>(32 * summary.total.parameters)},
         {"mult-adds, 32 x 50", static_cast<double>(pass.multiply_adds)},
         {"of these inside attention", static_cast<double>(pass.attention)},
         {"MB as torchinfo counts, input", megabytes(listed.input_bytes)},
         {"MB as torchinfo counts, forward and backward", megabytes(listed.activation_bytes)},
         {"MB as torchinfo counts, parameters", megabytes(listed.parameter_bytes)},
         {"MB as torchinfo counts, together", megabytes(listed.total_bytes())},
         {"MB kept from forward for backward", megabytes(summary.total.training.kept)}},
        listed.multiply_adds == 32 * summary.total.parameters && pass.multiply_adds > 40 * listed.multiply_adds,
        {printed}};
}

struct Decoded {
    Tensor hidden;
    nn::AttentionMaps maps;
};

// The decoder's output rows for this source and target.
Decoded decoded(const nn::Transformer& model, const nn::Sentences& source, const nn::Sentences& target) {
    const NoGrad none;
    Decoded result;
    const Variable memory = model.encode(source.tokens, source.spans, &result.maps);
    result.hidden = model.decode(target.tokens, target.spans, memory, source.spans, &result.maps).value();
    return result;
}

// rows: the decoder's output for this source and target.
Statement decoder_does_not_look_ahead(const nn::Transformer& model, const nn::Sentences& source, const nn::Sentences& target,
                                      const Tensor& rows) {
    const std::int64_t length = target.spans.rows();
    nn::Sentences other{target.tokens.clone(), target.spans};
    std::int32_t& last = other.tokens.mutable_data<std::int32_t>()[length - 1];
    last = (last + 1) % static_cast<std::int32_t>(words);
    const Tensor others = decoded(model, source, other).hidden;
    const double before = lab::largest_difference(rows.slice(0, length - 1), others.slice(0, length - 1));
    const double itself = lab::largest_difference(rows.slice(length - 1, length), others.slice(length - 1, length));
    return {"A row of the decoder knows the words before it and none behind: another last word changes no earlier row.",
            {{"what earlier rows move", before}, {"what the last row moves", itself}},
            before == 0 && itself > 0.01};
}

Statement maps_are_distributions(const nn::AttentionMaps& maps) {
    double error = 0;
    std::string printed;
    for (const auto& [kind, layers] :
         {std::pair("encoder", &maps.encoder), std::pair("decoder", &maps.decoder), std::pair("cross", &maps.cross)}) {
        for (const Tensor& map : *layers) error = std::max(error, lab::error_of_sums(map));
        printed += fmt::format("{:<8} {} maps {}\n", kind, layers->size(), layers->front().shape().str());
    }
    return {"The model hands out every map of the encoder, of the decoder and between them; each row of each head sums to 1.",
            {{"maps", static_cast<double>(maps.encoder.size() + maps.decoder.size() + maps.cross.size())},
             {"largest error of a row's sum", error}},
            maps.encoder.size() == 6 && maps.decoder.size() == 6 && maps.cross.size() == 6 && error < 1e-5,
            {printed}};
}

}  // namespace

Report notebook(const Options& options) {
    Report report;
    const PositionCodes codes = position_codes(1024, notebook_d_model);
    nn::Transformer model(model_of("notebook", words), options.seed);
    model.eval();
    report.statements.push_back(rows_of_a_table(options));
    report.statements.push_back(padding_changes_nothing(model, options));
    report.statements.push_back(every_code_is_its_own(codes));
    report.statements.push_back(neighbours_are_alike(codes));
    report.statements.push_back(codes_are_bounded(codes));
    report.statements.push_back(codes_go_on(codes));
    report.statements.push_back(tokens_by_themselves(model, options));
    const nn::Sentences source = sentences(1, 7, words, lab::key(options, "source")),
                        target = sentences(1, 5, words, lab::key(options, "target"));
    const Decoded result = decoded(model, source, target);
    report.statements.push_back(decoder_does_not_look_ahead(model, source, target, result.hidden));
    report.statements.push_back(torchinfo_counts_sentences(model));
    report.statements.push_back(maps_are_distributions(result.maps));
    return report;
}

}  // namespace heddle::chapters
