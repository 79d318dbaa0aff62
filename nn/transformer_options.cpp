#include "nn/transformer_options.h"

#include "core/format.h"

namespace heddle::nn {
namespace {

constexpr std::int64_t largest_extent = 1 << 24, largest_vocabulary = std::int64_t{1} << 31, largest_table = 1 << 27;

void check_extent(const char* name, std::int64_t extent, std::int64_t largest = largest_extent) {
    check(extent > 0, "transformer: {} is {}, wanted a positive number", name, extent);
    check(extent <= largest, "transformer: {} is {}, wanted at most {}", name, extent, largest);
}

void check_probability(const char* name, double probability) {
    check(probability >= 0 && probability < 1, "transformer: {} is {}, wanted 0 <= {} < 1", name, probability, name);
}

}  // namespace

TransformerOptions TransformerOptions::complete() const {
    TransformerOptions all = *this;
    check_extent("source_vocabulary", source_vocabulary, largest_vocabulary);
    check_extent("target_vocabulary", target_vocabulary, largest_vocabulary);
    check_extent("d_model", d_model);
    check_extent("heads", heads);
    check_extent("d_ff", d_ff);
    check_extent("position_table", position_table, largest_table / d_model);
    check(encoder_layers >= 0 && decoder_layers >= 0, "transformer: {} encoder and {} decoder layers, wanted none or more",
          encoder_layers, decoder_layers);
    check(head_dim >= 0, "transformer: head_dim is {}, wanted 0 (d_model / heads) or a positive number", head_dim);
    check(head_dim <= largest_extent / heads, "transformer: {} heads of head_dim {}, wanted a product of at most {}", heads,
          head_dim, largest_extent);
    check(head_dim > 0 || d_model % heads == 0, "transformer: d_model {} cannot be divided by {} heads; choose head_dim", d_model,
          heads);
    check(key_heads >= 0 && (key_heads == 0 || heads % key_heads == 0),
          "transformer: {} heads cannot share {} heads of keys evenly; choose a key_heads that divides heads", heads, key_heads);
    check(!one_embedding() || source_vocabulary == target_vocabulary,
          "transformer: embeddings of {} source and {} target tokens cannot be tied; share the vocabulary or tie target or none",
          source_vocabulary, target_vocabulary);
    check(norm_eps > 0, "transformer: norm_eps is {}, wanted a positive number", norm_eps);
    check(memory == MemoryFrom::last || encoder_layers == decoder_layers,
          "transformer: each decoder layer should attend to its encoder layer, but there are {} encoder and {} decoder layers",
          encoder_layers, decoder_layers);
    all.attention_bias = attention_bias.value_or(bias);
    all.output_bias = output_bias.value_or(bias && !output_is_tied());
    check(!*all.output_bias || !output_is_tied(),
          "transformer: the output projection is the target embedding and has no bias; leave output_bias out, or tie less");
    if (head_dim == 0) all.head_dim = d_model / heads;
    if (key_heads == 0) all.key_heads = heads;
    all.attention_dropout = attention_dropout.value_or(dropout);
    all.ffn_dropout = ffn_dropout.value_or(dropout);
    all.final_norm = final_norm.value_or(norm == NormPlace::pre);
    check_probability("dropout", dropout);
    check_probability("attention_dropout", *all.attention_dropout);
    check_probability("ffn_dropout", *all.ffn_dropout);
    return all;
}

double TransformerOptions::matrix_elements() const {
    const auto of = [](std::int64_t rows, std::int64_t cols) { return static_cast<double>(rows) * static_cast<double>(cols); };
    const double attention = 2 * of(d_model, heads * head_dim) + 2 * of(d_model, key_heads * head_dim);
    const double feed_forward = 2 * of(d_model, d_ff);
    double elements = static_cast<double>(encoder_layers) * (attention + feed_forward) +
                      static_cast<double>(decoder_layers) * (2 * attention + feed_forward) + of(source_vocabulary, d_model);
    if (!one_embedding()) elements += of(target_vocabulary, d_model);
    if (!output_is_tied()) elements += of(target_vocabulary, d_model);
    if (positions == Positions::learned) elements += 2 * of(position_table, d_model);
    return elements;
}

std::optional<std::int64_t> TransformerOptions::longest_sentence() const {
    if (positions != Positions::learned) return {};
    return position_table;
}

}  // namespace heddle::nn
