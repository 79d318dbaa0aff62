#include "nn/transformer_options.h"

#include <limits>

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

OptionConflict TransformerOptions::conflict() const {
    if (heads < 1 || (!head_dim && d_model % heads != 0)) return OptionConflict::heads_of_width;
    if (key_heads && (*key_heads < 1 || heads % *key_heads != 0)) return OptionConflict::key_heads;
    if (zero_start && output_is_tied() && !output_bias.value_or(true)) return OptionConflict::zero_start_without_bias;
    if (memory == MemoryFrom::layer && decoder_only) return OptionConflict::memory_without_encoder;
    if (memory == MemoryFrom::layer && encoder_layers.value_or(layers) != decoder_layers.value_or(layers))
        return OptionConflict::unpaired_layers;
    if (positions == Positions::rotary && head_dim.value_or(d_model / heads) % 2 != 0) return OptionConflict::odd_rotary_head;
    return OptionConflict::none;
}

TransformerOptions TransformerOptions::with_defaults() const {
    check_extent("d_model", d_model);
    check_extent("heads", heads);
    const OptionConflict found = conflict();
    check(found != OptionConflict::heads_of_width, "transformer: d_model {} cannot be divided by {} heads; choose head_dim",
          d_model, heads);
    check(found != OptionConflict::key_heads,
          "transformer: {} heads cannot share {} heads of keys evenly; choose a key_heads that divides heads", heads,
          key_heads.value_or(heads));
    check(found != OptionConflict::zero_start_without_bias,
          "transformer: zero_start keeps the begin mark's row of a tied output projection at zero by a bias; leave output_bias "
          "out, or tie less");
    TransformerOptions all = *this;
    all.encoder_layers = decoder_only ? 0 : encoder_layers.value_or(layers);
    all.decoder_layers = decoder_layers.value_or(layers);
    check(found != OptionConflict::unpaired_layers,
          "transformer: each decoder layer should attend to its encoder layer, but there are {} encoder and {} decoder layers",
          *all.encoder_layers, *all.decoder_layers);
    check(found != OptionConflict::memory_without_encoder,
          "transformer: memory is layer, but a decoder alone has no encoder to attend to; leave memory out");
    check(found != OptionConflict::odd_rotary_head,
          "transformer: rotary positions turn pairs of columns, but a head has {}; choose an even head_dim",
          head_dim.value_or(d_model / heads));
    all.head_dim = head_dim.value_or(d_model / heads);
    all.key_heads = key_heads.value_or(heads);
    all.tie = tie.value_or(Tie::all);
    all.attention_bias = attention_bias.value_or(bias);
    all.output_bias = output_bias.value_or(output_is_tied() ? zero_start : bias);
    all.attention_dropout = attention_dropout.value_or(dropout);
    all.ffn_dropout = ffn_dropout.value_or(dropout);
    all.final_norm = final_norm.value_or(norm == NormPlace::pre);
    return all;
}

TransformerOptions TransformerOptions::with_vocabularies(std::int64_t source, std::int64_t target) const {
    TransformerOptions same = *this;
    same.source_vocabulary = source;
    same.target_vocabulary = target;
    return same;
}

TransformerOptions TransformerOptions::complete() const {
    if (decoder_only && source_vocabulary != target_vocabulary)
        return with_vocabularies(target_vocabulary, target_vocabulary).complete();
    check_extent("source_vocabulary", source_vocabulary, largest_vocabulary);
    check_extent("target_vocabulary", target_vocabulary, largest_vocabulary);
    const TransformerOptions all = with_defaults();
    check_extent("d_ff", d_ff);
    check_extent("position_table", position_table, largest_table / d_model);
    check(*all.encoder_layers >= 0 && *all.decoder_layers >= 0,
          "transformer: {} encoder and {} decoder layers, wanted none or more", *all.encoder_layers, *all.decoder_layers);
    check_extent("head_dim", *all.head_dim, std::numeric_limits<std::int64_t>::max());
    check(*all.head_dim <= largest_extent / heads, "transformer: {} heads of head_dim {}, wanted a product of at most {}", heads,
          *all.head_dim, largest_extent);
    check(!one_embedding() || source_vocabulary == target_vocabulary,
          "transformer: embeddings of {} source and {} target tokens cannot be tied; share the vocabulary or tie target or none",
          source_vocabulary, target_vocabulary);
    check(norm_eps > 0, "transformer: norm_eps is {}, wanted a positive number", norm_eps);
    check_probability("dropout", dropout);
    check_probability("attention_dropout", *all.attention_dropout);
    check_probability("ffn_dropout", *all.ffn_dropout);
    return all;
}

double TransformerOptions::matrix_elements() const {
    const auto of = [](std::int64_t rows, std::int64_t cols) { return static_cast<double>(rows) * static_cast<double>(cols); };
    const double attention = 2 * of(d_model, heads * *head_dim) + 2 * of(d_model, *key_heads * *head_dim);
    const double feed_forward = (gated ? 3 : 2) * of(d_model, d_ff);
    double elements = static_cast<double>(*encoder_layers) * (attention + feed_forward) +
                      static_cast<double>(*decoder_layers) * ((decoder_only ? 1 : 2) * attention + feed_forward) +
                      of(source_vocabulary, d_model);
    if (!one_embedding()) elements += of(target_vocabulary, d_model);
    if (!output_is_tied()) elements += of(target_vocabulary, d_model);
    if (positions == Positions::learned) elements += (decoder_only ? 1 : 2) * of(position_table, d_model);
    return elements;
}

std::optional<std::int64_t> TransformerOptions::longest_sentence() const {
    if (positions != Positions::learned) return {};
    return position_table;
}

}  // namespace heddle::nn
