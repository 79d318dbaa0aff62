#include "apps/command/option_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "apps/presets/presets.h"
#include "apps/tasks/tasks.h"

namespace heddle::app {

void add_replace_invalid_option(OptionTable& table, bool& replace_invalid) {
    table.add("replace-invalid", replace_invalid, "bytes that are not UTF-8 become U+FFFD instead of an error");
}

namespace {

constexpr const char* format_help =
    "a line each; train.tags.* without metadata lines; <seg> of .xml, .sgm; auto: by what it holds";

}  // namespace

Option& add_columns_option(OptionTable& table, std::optional<std::pair<std::int64_t, std::int64_t>>& columns) {
    return table.add("tsv-columns", columns, "the columns of source and target in that file, counted from 1; implies --tsv")
        .at_least(1);
}

Option& add_format_option(OptionTable& table, TextFormat& format) { return table.add("format", format, format_help); }
Option& add_format_option(OptionTable& table, std::optional<TextFormat>& format) {
    return table.add("format", format, format_help);
}

void add_reading_options(OptionTable& table, DataOptions& options) {
    table.add("tsv", options.tsv, "each PREFIX is one file (- is standard input): source, tab, target per line");
    add_columns_option(table, options.tsv_columns).defaults_to("1,2 with --tsv").left_out_at("");
    add_format_option(table, options.format);
    add_replace_invalid_option(table, options.replace_invalid);
}

void add_data_options(OptionTable& table, DataOptions& options) {
    table.group(OptionGroup::data);
    table
        .add("train", options.train,
             "sentence pairs to learn from: PREFIX.SOURCE and PREFIX.TARGET, or a folder that heddle prepare made")
        .called("PREFIX");
    table.add("valid", options.valid, "sentence pairs to validate on").called("PREFIX");
    table.add("source", options.source, "file ending of the source language").called("de");
    table.add("target", options.target, "file ending of the target language").called("en");
    add_reading_options(table, options);
    std::vector<std::string> tasks = task_names();
    tasks.insert(tasks.end(), {"names", "text"});
    table
        .add("task", options.task,
             "train on a generated task, or a language model of --text (names: short lines, by characters); it sets model and "
             "schedule options, and prints them")
        .one_of(std::move(tasks));
    table
        .add("text", options.text,
             "one file for --task names or text, a text per line: nine lines of ten to learn from, the others to validate on")
        .called("FILE")
        .left_out_at("\"\"");
    add_preset_option(table, options.preset);
    table.add("out", options.out, "the run's folder, to be created").called("RUN").not_in_config();
    table.add("resume", options.resume, "resume this run from its last save; limits and rates may be changed")
        .called("RUN")
        .not_in_config();
    table.add("preload", options.preload, "with --resume: resume from the end of this epoch; later saves are removed")
        .at_least(1)
        .called("EPOCH")
        .defaults_to("the last save")
        .not_in_config();
    table.add("init", options.init, "start from the weights, vocabulary and model options of this run (fine-tuning)")
        .called("RUN");
    table.add("overwrite", options.overwrite, "replace an existing run").not_in_config();
    table
        .add("prepare-above", options.prepare_above,
             "MB of text files that are held in memory (gzip: a quarter); larger text is prepared in RUN/text.prepared")
        .at_least(0)
        .defaults_to(std::to_string(default_prepare_above));
}

void add_model_options(OptionTable& table, nn::TransformerOptions& options) {
    table.group(OptionGroup::model);
    table.add("layers", options.layers, "layers of encoder and decoder").at_least(1);
    table.add("encoder-layers", options.encoder_layers, "layers of the encoder").at_least(1).defaults_to("as --layers");
    table.add("decoder-layers", options.decoder_layers, "layers of the decoder").at_least(1).defaults_to("as --layers");
    table.add("d-model", options.d_model, "width of the model").at_least(1);
    table.add("heads", options.heads, "attention heads").at_least(1);
    table.add("head-dim", options.head_dim, "width of a head").at_least(1).defaults_to("d-model / heads");
    table.add("key-heads", options.key_heads, "heads of keys and values, each shared by equally many heads")
        .at_least(1)
        .defaults_to("as --heads")
        .left_out_at("");
    table.add("d-ff", options.d_ff, "inner width of the feed-forward layers").at_least(1);
    table.add("bias", options.bias, "biases in the linear layers");
    table.add("attention-bias", options.attention_bias, "biases in the projections of attention").defaults_to("as --bias");
    table.add("output-bias", options.output_bias, "a bias of the output projection")
        .defaults_to("as --bias; tied: as --zero-start");
    table.add("dropout", options.dropout, "dropout of sub-layer outputs and embeddings").at_least(0).less_than(1);
    table.add("attention-dropout", options.attention_dropout, "dropout of attention weights")
        .at_least(0)
        .less_than(1)
        .defaults_to("as --dropout");
    table.add("ffn-dropout", options.ffn_dropout, "dropout inside the feed-forward layers")
        .at_least(0)
        .less_than(1)
        .defaults_to("as --dropout");
    table.add("norm", options.norm, "layer norm before or after each sub-layer");
    table.add("final-norm", options.final_norm, "layer norm after the last layer").defaults_to("true with --norm pre");
    table.add("norm-kind", options.norm_kind, "layer norm, or RMS norm, which has no mean and no bias").left_out_at("\"layer\"");
    table.add("norm-eps", options.norm_eps, "added to the variance in layer norm").more_than(0);
    table.add("activation", options.activation, "of the feed-forward layers; silu is also called swish");
    table.add("gated", options.gated, "the activation of one projection times another (SwiGLU: --activation silu --gated)")
        .left_out_at("false");
    table.add("positions", options.positions,
              "sines and cosines (alternating, sines first, Marian's), learned; or in self-attention: rotary, or ALiBi's bias");
    table.add("position-table", options.position_table, "positions in the table: the longest sentence, in tokens").at_least(1);
    table.add("tie", options.tie, "one matrix for source, target and output; source and target; target and output; none")
        .defaults_to("all; target with two vocabularies");
    table.add("scale-embeddings", options.scale_embeddings, "embeddings are read times the root of d-model");
    table.add("zero-start", options.zero_start, "the begin mark reads as zeros, which is what Marian's decoder reads first")
        .left_out_at("false");
    table.add("embedding-init", options.embedding_init, "deviation d-model^-0.5, deviation 1, or Xavier uniform");
    table.add("memory", options.memory, "decoder layers attend to the encoder's last layer, or each to its own");
    table.add("decoder-only", options.decoder_only, "a language model, without encoder; --task names and text set it")
        .left_out_at("false");
}

void add_vocabulary_options(OptionTable& table, VocabularyRequest& options) {
    table.group(OptionGroup::vocabulary);
    table.add("vocab-type", options.type, "subwords, words or characters");
    table.add("vocab-size", options.size, "tokens; 0 with word and char: all")
        .at_least(0)
        .defaults_to(fmt::format("{}, less for a small text; word and char: all", default_subwords));
    table.add("source-vocab-size", options.source_size, "tokens of the source, with --shared-vocab false")
        .at_least(0)
        .defaults_to("as --vocab-size");
    table.add("target-vocab-size", options.target_size, "tokens of the target, with --shared-vocab false")
        .at_least(0)
        .defaults_to("as --vocab-size");
    table.add("min-count", options.min_count, "word and char: rarer tokens are unknown").at_least(1);
    table.add("shared-vocab", options.shared, "one vocabulary for both languages");
    table.add("vocab-model", options.model_file, "use this vocabulary file for both languages; train none").called("FILE");
    table.add("vocab-lines", options.max_lines, "train the vocabulary on this many lines, evenly spread; 0: all").at_least(0);
    table
        .add("vocab-normalization", options.normalization,
             "bpe and unigram: one spelling for the same characters; text as it is; or similar characters replaced, too")
        .defaults_to("nfc");
    table.add("lowercase", options.lowercase, "convert text to lower case first");
}

void take_given(const OptionTable& table, VocabularyRequest& options) {
    options.type_given = table.given("vocab-type");
    options.normalization_given = table.given("vocab-normalization");
}

void add_learning_options(OptionTable& table, TrainingOptions& options) {
    table.group(OptionGroup::learning);
    table
        .add("batch-tokens", options.batch_tokens,
             "sentences x longest side of a batch, at most; end of sentence counts; 0: no limit")
        .at_least(0);
    table.add("batch-sentences", options.batch_sentences, "sentences of a batch, at most; 0: no limit").at_least(0);
    table.add("max-length", options.max_length, "exclude longer sentences from training; 0: no limit").at_least(0);
    table.add("max-words", options.max_words, "exclude pairs with more words between spaces on a side from training; 0: no limit")
        .at_least(0);
    table.add("accumulate", options.accumulate, "batches per update").at_least(1);
    table.add("shards", options.shards, "parts that an update is cut into; as many processes can share it (mpirun), same bits")
        .at_least(1)
        .at_most(1024)
        .left_out_at("1");
    table.add("label-smoothing", options.label_smoothing, "probability spread over all tokens").at_least(0).less_than(1);
    table.add("optimizer", options.optimizer, "how gradients become steps");
    table.add("adam-betas", options.adam_betas, "decay of Adam's moments").at_least(0).less_than(1);
    table.add("adam-eps", options.adam_eps, "added to the root of Adam's second moment").at_least(1e-30);
    table.add("momentum", options.momentum, "of sgd").at_least(0).less_than(1);
    table.add("weight-decay", options.weight_decay, "L2 penalty; with adamw decoupled from the gradient").at_least(0);
    table.add("lr", options.lr, "the peak learning rate; with noam the factor of the formula")
        .at_least(0)
        .defaults_to(fmt::format("{}; with noam {}", default_rate(options.schedule), default_rate(optim::ScheduleKind::noam)));
    table.add("schedule", options.schedule, "of the learning rate");
    table.add("warmup", options.warmup, "updates until the peak; a shorter cosine run takes a tenth of its own").at_least(0);
    table.add("clip", options.clip, "largest norm of the gradient; 0: no limit").at_least(0);
    table.add("seed", options.seed, "of everything random");
}

void add_course_options(OptionTable& table, TrainingOptions& options) {
    table.group(OptionGroup::course);
    table.add("epochs", options.epochs, "passes over the training text")
        .at_least(1)
        .defaults_to(fmt::format("{}, unless --updates or --minutes is given", default_epochs));
    table.add("updates", options.updates, "end after this many updates").at_least(1).defaults_to("no limit");
    table.add("minutes", options.minutes, "end after this many minutes of training").at_least(0).defaults_to("no limit");
    table.add("patience", options.patience, "end after this many validations without a better loss; 0: never").at_least(0);
    table.add("average", options.average, "average the weights at the last N validations; 1: the last weights").at_least(1);
    table.add("tune-search", options.tune_search,
              "when training ends, choose the length penalty with the best validation score; translate and evaluate use it");
    table.add("valid-every", options.valid_every, "updates between validations; 0: at the end of each epoch").at_least(0);
    table.add("valid-sentences", options.valid_sentences, "sentences translated for the BLEU of a validation; 0: none")
        .at_least(0);
    table.add("save-every", options.save_every, "updates between saves; 0: at the end of each epoch").at_least(0);
    table.add("save-on-signal", options.save_on_signal, "save and go on when this signal comes; otherwise both save and end");
    table.add("keep", options.keep, "saves to keep, the newest ones; 0: all").at_least(0);
    table.add("on-divergence", options.on_divergence, "loss or gradient not finite: end, or leave the update out and go on");
    table.add("log-every", options.log_every, "updates between log lines").at_least(1);
    table.add("log-style", options.log_style,
              "of log lines; batch: epoch, batch of how many, loss, accuracy, times of loading and step");
    table.add("events-every", options.events_every, "updates between the numbers for TensorBoard")
        .at_least(1)
        .defaults_to("as --log-every");
    table
        .add("scalars-every", options.scalars_every, "updates between writes of all_scalars.json, TensorBoard's numbers; 0: none")
        .at_least(0);
    table.add("cuda-graphs", options.cuda_graphs,
              "with --device cuda: capture a step once for each shape of its batch, and replay it");
}

void add_processor_options(OptionTable& table, MachineOptions& options) {
    table.group(OptionGroup::machine);
    table.add("threads", options.threads, "threads to compute with").at_least(1).at_most(1024).defaults_to("one per processor");
    table
        .add(
            "cpu-level", options.cpu_level,
            "instructions to compute with: SSE4.2, AVX2 or AVX-512; a lower level than the processor's gives an older one's bits")
        .defaults_to("the processor's");
}

void add_machine_options(OptionTable& table, MachineOptions& options) {
    add_processor_options(table, options);
    table.add("device", options.device, "where to compute; cuda: a GPU, or the emulated one of a build for tests");
}

void add_dtype_option(OptionTable& table, MachineOptions& options) {
    table.add("dtype", options.dtype, "what the model computes in; bf16 with --device cuda, and files hold f32 all the same");
}

void add_inference_options(OptionTable& table, MachineOptions& options) {
    add_dtype_option(table, options);
    table.add("batch-invariant", options.batch_invariant,
              "on CUDA a line's result has the same bits in every batch (as on the CPU), for some speed");
}

void add_weights_option(OptionTable& table, WeightsChoice& weights) {
    table.add("weights", weights.kind,
              "average: what training ended with, the average or the last weights; best: those of the best validation");
    table.add("eval-epoch", weights.epoch, "use the weights saved at the end of this epoch (train with --keep 0)")
        .at_least(1)
        .called("EPOCH")
        .defaults_to("those of --weights");
}

void add_models_options(OptionTable& table, std::vector<std::string>& runs, WeightsChoice& weights) {
    table.add("model", runs, "the folder of a trained run; of several: the mean of their probabilities")
        .called("RUN...")
        .positional();
    add_weights_option(table, weights);
}

void check_weights(const OptionTable& table) {
    check_usage(!table.given("weights") || !table.given("eval-epoch"),
                fmt::format("{}: --weights and --eval-epoch are two choices of weights; give one of them", table.command));
}

void check_models(const std::string& command, const std::vector<std::string>& runs) {
    check_usage(!runs.empty() && !runs.front().empty(),
                fmt::format("{0}: no model; give heddle {0} RUN, a folder that heddle train made", command));
}

Option& add_length_penalty_option(OptionTable& table, DecodeOptions& options) {
    return table.add("length-penalty", options.length_penalty, "a hypothesis scores log p / length^X").at_least(0).at_most(10);
}

void add_decode_options(OptionTable& table, DecodeOptions& options) {
    table.group(OptionGroup::search);
    table.add("beam", options.beam, "hypotheses kept at each step; 1: greedy").at_least(1).at_most(1000);
    table
        .add("beam-patience", options.patience,
             "a search ends when X (1 or more) times --beam hypotheses have ended; 0: when no other can win (slower)")
        .at_least(0)
        .at_most(1000);
    add_length_penalty_option(table, options).defaults_to("the run's; of several the first's; else 1");
    table
        .add("max-output-length", options.max_length,
             "tokens of a translation at most, the end mark not counted; longer ones are cut, and their number is said")
        .at_least(1)
        .at_most(1'000'000)
        .defaults_to("3 times the source's + 13");
}

Option& add_sampling_options(OptionTable& table, Sampling& sampling, const std::string& what) {
    table.add("top-k", sampling.top_k, "draw each token from the N most probable ones; 0: from all").at_least(0);
    table.add("top-p", sampling.top_p, "draw each token from the fewest most probable ones that have X of all probability")
        .more_than(0)
        .at_most(1);
    table.add("seed", sampling.seed, what + " follow from this");
    return table.add("temperature", sampling.temperature,
                     "draw from p^(1/X): below 1 closer to the likeliest, above 1 more varied");
}

Option& add_forbid_unknown_option(OptionTable& table, bool& forbid) {
    return table.add("forbid-unknown", forbid,
                     "never write U+2047, the double question mark for a word that the target vocabulary lacks");
}

void check_decoding(const DecodeOptions& options) {
    check_usage(options.patience == 0 || options.patience >= 1,
                fmt::format("--beam-patience {}: wanted 1 or more, or 0 for a search that ends when no other hypothesis can win",
                            options.patience));
}

namespace {

// Another model, another vocabulary, or another order of the batches: a save means nothing there. (Whether the text is the same
// one is seen by its digest, wherever its files are now.)
bool shapes_the_run(const Option& option) {
    constexpr std::string_view single[] = {"source",     "target",    "task",       "init",   "batch-tokens", "batch-sentences",
                                           "max-length", "max-words", "accumulate", "shards", "optimizer",    "seed"};
    if (option.name.ends_with("dropout")) return false;  // fits any weights
    return option.group == OptionGroup::model || option.group == OptionGroup::vocabulary ||
           std::find(std::begin(single), std::end(single), option.name) != std::end(single);
}

// What a training does beside its updates, and how fast.
bool is_incidental(const Option& option) {
    constexpr std::string_view names[] = {"tune-search",   "valid-sentences", "save-every", "save-on-signal",
                                          "keep",          "log-every",       "log-style",  "events-every",
                                          "scalars-every", "cuda-graphs",     "threads",    "prepare-above"};
    return std::find(std::begin(names), std::end(names), option.name) != std::end(names);
}

}  // namespace

OptionTable train_table(TrainSettings& settings) {
    OptionTable table("train", "learns to translate from sentence pairs, or to write from a text");
    table.usage =
        "usage: heddle train --train PREFIX --valid PREFIX --source de --target en --out RUN [options]\n"
        "       heddle train --preset NAME --train PREFIX --valid PREFIX --source de --target en --out RUN\n"
        "       heddle train --task numbers --out RUN [options]\n"
        "       heddle train --task text --text FILE --out RUN [options]     (a language model)\n"
        "       heddle train --resume RUN [options]\n"
        "       heddle train --config RUN/config.toml --out ANOTHER\n";
    add_data_options(table, settings.data);
    add_model_options(table, settings.model);
    add_vocabulary_options(table, settings.vocabulary);
    add_learning_options(table, settings.training);
    add_course_options(table, settings.training);
    add_machine_options(table, settings.machine);
    add_dtype_option(table, settings.machine);
    for (Option& option : table.options()) {
        option.fixed = shapes_the_run(option);
        option.incidental = is_incidental(option);
    }
    return table;
}

}  // namespace heddle::app
