#include "apps/exchange/exchanged_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/translation/vocabulary/protobuf.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::string_view output_bias = "output.bias", output_weight = "output.weight";

// Which numbering the rows of a tensor have.
enum class TokenRows : std::uint8_t { none, source, target };

TokenRows rows_of(std::string_view name) {
    if (name == "source_embedding.weight") return TokenRows::source;
    const bool target =
        name == "embedding.weight" || name == "target_embedding.weight" || name == output_weight || name == output_bias;
    return target ? TokenRows::target : TokenRows::none;
}

// Row ids[i] of `from` becomes row i; rows of -1 become `added`, of as many elements as a row.
Tensor picked_rows(const Tensor& from, const Ids& ids, const std::vector<float>& added) {
    Shape shape = from.shape();
    shape.set(0, static_cast<std::int64_t>(ids.size()));
    Tensor picked = Tensor::empty(shape);
    const auto width = static_cast<std::size_t>(from.numel() / from.dim(0));
    const std::span<const float> rows = from.values<float>();
    const std::span<float> into = picked.mutable_values<float>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::span<const float> row =
            ids[i] < 0 ? std::span<const float>(added) : rows.subspan(static_cast<std::size_t>(ids[i]) * width, width);
        std::ranges::copy(row, into.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    return picked;
}

std::vector<float> row_of(const Tensor& tensor, std::int32_t row) {
    const auto width = static_cast<std::size_t>(tensor.numel() / tensor.dim(0));
    const std::span<const float> values = tensor.values<float>().subspan(static_cast<std::size_t>(row) * width, width);
    return {values.begin(), values.end()};
}

// The row of the toolkit that its decoder reads first; nothing for a token of its own, and for a row of zeros.
std::optional<std::int32_t> borrowed_start(const TokenMap& map) {
    if (map.start == StartToken::pad) return map.pad;
    if (map.start == StartToken::end) return map.end;
    return {};
}

void check_finite_tensor(const Tensor& tensor, std::string_view tensor_name, std::string_view name) {
    check(std::ranges::all_of(tensor.values<float>(), [](float value) { return std::isfinite(value); }),
          "{}: {} holds NaN or infinity; get the model once more", name, tensor_name);
}

}  // namespace

SpecialIds special_ids(std::string_view sentencepiece, std::string_view name) {
    const std::string model = checked_sentencepiece_model(sentencepiece, name);
    enum : unsigned { pieces_field = 1, trainer_field = 2, unk_field = 45, begin_field = 46, end_field = 47, pad_field = 48 };
    enum : std::uint64_t { unknown_type = 2, control_type = 3 };
    std::string unk = "<unk>", begin = "<s>", end = "</s>", pad = "<pad>";
    for (ProtobufFields fields(model); fields.next();) {
        if (fields.field != trainer_field || fields.wire != Wire::bytes) continue;
        for (ProtobufFields trainer(fields.bytes); trainer.next();) {
            if (trainer.wire != Wire::bytes) continue;
            if (trainer.field == unk_field) unk = trainer.bytes;
            if (trainer.field == begin_field) begin = trainer.bytes;
            if (trainer.field == end_field) end = trainer.bytes;
            if (trainer.field == pad_field) pad = trainer.bytes;
        }
    }
    SpecialIds found;
    for (ProtobufFields fields(model); fields.next();) {
        if (fields.field != pieces_field || fields.wire != Wire::bytes) continue;
        std::string_view text;
        std::uint64_t type = 1;
        for (ProtobufFields piece(fields.bytes); piece.next();) {
            if (piece.field == 1 && piece.wire == Wire::bytes) text = piece.bytes;
            if (piece.field == 3 && piece.wire == Wire::varint) type = piece.number;
        }
        const auto id = static_cast<std::int32_t>(found.pieces++);
        if (type == unknown_type && text == unk) found.unk = id;
        if (type != control_type) continue;
        if (text == pad) found.pad = id;
        if (text == begin) found.begin = id;
        if (text == end) found.end = id;
    }
    return found;
}

double checked_length_penalty(double penalty, std::string_view where) {
    constexpr double most = 10;  // as --length-penalty
    check(penalty >= 0 && penalty <= most, "{}: the length penalty of its search is {}, and Heddle's is 0 to {}; change it there",
          where, penalty, most);
    return penalty;
}

HeddleModel to_heddle(ExchangedModel model, std::string_view name) {
    HeddleModel made;
    made.forbid_unknown = model.forbid_unknown;
    const auto load = [&](ExchangedVocabulary& side) {
        return std::shared_ptr<const Vocabulary>(
            load_sentencepiece(std::move(side.sentencepiece), name, false, std::move(side.map)));
    };
    const std::optional<std::int32_t> borrowed = borrowed_start(model.target.map);
    const bool zeros = model.target.map.start == StartToken::zeros;
    made.vocabularies.source = load(model.source);
    made.vocabularies.target = model.one_file ? made.vocabularies.source : load(model.target);
    const Ids source = made.vocabularies.source->toolkit_ids(), target = made.vocabularies.target->toolkit_ids();
    const auto size = [](const Ids& ids) { return static_cast<std::int64_t>(ids.size()); };
    const auto known = [](const Ids& ids) { return std::ranges::count_if(ids, [](std::int32_t id) { return id >= 0; }); };
    check(known(source) == model.options.source_vocabulary && known(target) == model.options.target_vocabulary,
          "{}: the vocabularies have {} and {} tokens, but the model {} and {}; are these the model's own vocabulary files?",
          name, known(source), known(target), model.options.source_vocabulary, model.options.target_vocabulary);
    check(!model.options.one_embedding() || source == target,
          "{}: source and target have one embedding, but their tokens are numbered differently", name);

    model.options = model.options.with_vocabularies(size(source), size(target));
    model.options.zero_start = zeros;
    const bool adds = known(target) < size(target);
    if (adds && !model.tensors.contains(std::string(output_bias)))
        model.tensors.emplace(output_bias, Tensor::zeros({known(target)}));
    model.options.output_bias = model.tensors.contains(std::string(output_bias));
    try {
        model.options = model.options.complete();
    } catch (const Error& error) {
        fail_with("{}: its options describe no possible model: {}", name, error.what());
    }
    // A configuration may claim any size: memory of that size is allocated only for a model whose tensors are there.
    double elements = 0;
    for (const auto& [tensor_name, tensor] : model.tensors) elements += static_cast<double>(tensor.numel());
    constexpr double added_rows = 8;
    check(model.options.matrix_elements() <= 2 * elements + added_rows * static_cast<double>(model.options.d_model),
          "{}: its options describe a model of {:.3g} weights, but its tensors have {:.3g}", name,
          model.options.matrix_elements(), elements);
    made.model = std::make_unique<nn::Transformer>(model.options, std::nullopt);
    for (auto& [tensor_name, into] : made.model->named_tensors()) {
        const auto found = model.tensors.find(tensor_name);
        check(found != model.tensors.end(), "{}: the tensor {} is missing", name, tensor_name);
        Tensor from = std::move(found->second);
        model.tensors.erase(found);
        check_finite_tensor(from, tensor_name, name);
        if (const TokenRows rows = rows_of(tensor_name); rows != TokenRows::none) {
            const Ids& ids = rows == TokenRows::source ? source : target;
            check(from.rank() == into.rank() && from.dim(0) == known(ids), "{}: {} is {}, wanted {} rows", name, tensor_name,
                  from.shape(), known(ids));
            const bool bias = tensor_name == output_bias;
            const auto width = static_cast<std::size_t>(from.numel() / std::max<std::int64_t>(from.dim(0), 1));
            from = picked_rows(from, ids, std::vector<float>(width, bias ? bias_of_added_token : 0.0F));
            // The begin mark is read in the place of another token, whose row it copies.
            if (borrowed && ids[bos_id] < 0 && !bias && rows == TokenRows::target) {
                const auto at = static_cast<std::int32_t>(std::ranges::find(ids, *borrowed) - ids.begin());
                Tensor begin = from.slice(bos_id, bos_id + 1);
                begin.copy_(from.slice(at, at + 1));
            }
        }
        check(from.shape() == into.shape(), "{}: {} is {}, wanted {}", name, tensor_name, from.shape(), into.shape());
        into.copy_(from);
    }
    check(model.tensors.empty(), "{}: the tensor {} has no place in the model", name,
          model.tensors.empty() ? "" : model.tensors.begin()->first);
    made.model->eval();
    return made;
}

namespace {

// One side of a run: the vocabulary as the toolkit has it, and the toolkit's id of each of Heddle's ids.
struct RunSide {
    ExchangedVocabulary vocabulary;
    Ids ids;
};

// Heddle's own vocabularies keep the numbers of their .spm file. Where that lacks a mark that the model needs, which Heddle
// added, the numbers are Heddle's.
RunSide side_of(const Vocabulary& vocabulary, bool zero_start, std::string_view name) {
    check(is_sentencepiece(vocabulary.type()),
          "{}: its vocabulary is one of {}; other toolkits read those of SentencePiece: train with --vocab-type bpe or unigram",
          name, vocabulary.type() == VocabularyType::word ? "words" : "characters");
    RunSide side{.vocabulary = {.sentencepiece = vocabulary.serialized(), .map = {}}, .ids = {}};
    if (const TokenMap* map = vocabulary.token_map()) {
        side.vocabulary.map = *map;
        side.ids = vocabulary.toolkit_ids();
        return side;
    }
    check(!vocabulary.lowercase(),
          "{}: it converts text to lower case, which the other toolkits do not; train without --lowercase on text in lower case",
          name);
    const SpecialIds own = special_ids(side.vocabulary.sentencepiece, name);
    TokenMap& map = side.vocabulary.map;
    map.start = zero_start ? StartToken::zeros : StartToken::begin;
    if (own.unk < 0 || own.end < 0 || (own.begin < 0 && !zero_start)) {
        map.pad = pad_id, map.unk = unk_id, map.begin = bos_id, map.end = eos_id;
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            map.pieces.push_back(vocabulary.token(id));
            side.ids.push_back(id);
        }
        return side;
    }
    map.unk = own.unk, map.end = own.end;
    if (own.pad >= 0) map.pad = own.pad;
    if (own.begin >= 0) map.begin = own.begin;
    side.ids = {own.pad, own.unk, own.begin, own.end};
    for (std::int32_t id = 0; id < own.pieces; ++id)
        if (std::ranges::find(side.ids.begin(), side.ids.begin() + 4, id) == side.ids.begin() + 4) side.ids.push_back(id);
    return side;
}

// The row of `heddle` that belongs to each id of the toolkit.
Ids inverse(const Ids& ids) {
    Ids rows(static_cast<std::size_t>(std::ranges::count_if(ids, [](std::int32_t id) { return id >= 0; })));
    for (std::size_t id = 0; id < ids.size(); ++id)
        if (ids[id] >= 0) rows[static_cast<std::size_t>(ids[id])] = static_cast<std::int32_t>(id);
    return rows;
}

// The toolkit reads an ordinary token's row first. If the begin mark was trained away from that row, pad, which is never
// translated, may take its row; an end mark may not.
void put_begin_back(ExchangedModel& model, const std::map<std::string, Tensor>& before, const Ids& ids, std::string_view name) {
    const std::optional<std::int32_t> borrowed = borrowed_start(model.target.map);
    const std::string embedding = model.options.one_embedding() ? "embedding.weight" : "target_embedding.weight";
    const std::vector<float> begin = row_of(before.at(embedding), bos_id);
    check(model.target.map.start != StartToken::zeros || std::ranges::all_of(begin, [](float value) { return value == 0; }),
          "{}: its begin mark should be a row of zeros (zero-start), and is not: another program wrote the weights, or training "
          "changed "
          "it; train once more",
          name);
    if (!borrowed || ids[bos_id] >= 0) return;
    if (begin == row_of(model.tensors.at(embedding), *borrowed)) return;
    check(model.target.map.start == StartToken::pad,
          "{}: its begin mark was trained apart from its end mark, and the other toolkit has one row for both; these weights can "
          "only be used with heddle translate",
          name);
    std::ranges::copy(begin, model.tensors.at(embedding).slice(*borrowed, *borrowed + 1).mutable_values<float>().begin());
    model.tensors.at(std::string(output_bias)).mutable_values<float>()[static_cast<std::size_t>(*borrowed)] = bias_of_added_token;
}

}  // namespace

ExchangedModel from_heddle(const nn::Transformer& model, const Vocabularies& vocabularies, bool forbid_unknown,
                           std::string_view name) {
    const nn::TransformerOptions& options = model.options();
    check(options.norm_kind == nn::NormKind::layer && !options.gated && !are_in_attention(options.positions),
          "{}: it has {}, which Heddle writes for no other toolkit; train with --norm-kind layer, --gated false and --positions "
          "sinusoidal, for example",
          name,
          options.gated                         ? "gated feed-forward layers"
          : are_in_attention(options.positions) ? "positions in attention"
                                                : "RMS norm");
    const bool zero_start = model.options().zero_start;
    RunSide source = side_of(*vocabularies.source, zero_start, name), target = side_of(*vocabularies.target, zero_start, name);
    const bool zeros = target.vocabulary.map.start == StartToken::zeros;
    check(zeros == zero_start, "{}: its decoder {} a row of zeros first, but its map of tokens says otherwise; import it again",
          name, zero_start ? "reads" : "does not read");
    ExchangedModel out{.options = model.options(),
                       .tensors = {},
                       .source = std::move(source.vocabulary),
                       .target = std::move(target.vocabulary),
                       .one_file = vocabularies.shared(),
                       .forbid_unknown = forbid_unknown};
    std::map<std::string, Tensor> heddle;
    for (const auto& [tensor_name, tensor] : model.named_tensors())
        heddle.emplace(tensor_name, copy_on_cpu(tensor).to(DType::f32));
    const Ids source_rows = inverse(source.ids), target_rows = inverse(target.ids);
    out.options = out.options.with_vocabularies(static_cast<std::int64_t>(source_rows.size()),
                                                static_cast<std::int64_t>(target_rows.size()));
    for (const auto& [tensor_name, tensor] : heddle) {
        const TokenRows rows = rows_of(tensor_name);
        out.tensors.emplace(tensor_name, rows == TokenRows::none
                                             ? tensor
                                             : picked_rows(tensor, rows == TokenRows::source ? source_rows : target_rows, {}));
    }
    if (!out.tensors.contains(std::string(output_bias)))
        out.tensors.emplace(output_bias, Tensor::zeros({out.options.target_vocabulary}));
    out.options.output_bias = true;
    put_begin_back(out, heddle, target.ids, name);
    return out;
}

void check_attention(const nn::TransformerOptions& options, std::string_view name) {
    check(*options.key_heads == options.heads, "{}: it has --key-heads {}, and other toolkits' models as many as heads", name,
          *options.key_heads);
    check(*options.head_dim * options.heads == options.d_model,
          "{}: it has --head-dim {}, and other toolkits' models d_model / heads, {}", name, *options.head_dim,
          options.d_model / options.heads);
    check(options.memory == nn::MemoryFrom::last,
          "{}: its decoder layers attend to the encoder's layers (--memory layer), and those of other toolkits to its result",
          name);
}

}  // namespace heddle::app
