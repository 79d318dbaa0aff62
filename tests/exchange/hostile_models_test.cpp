// Damaged and hostile models of other toolkits: each is refused by an Error that names it, in a process whose memory is watched.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/exchange/argos.h"
#include "apps/exchange/ctranslate2.h"
#include "apps/exchange/huggingface.h"
#include "core/safetensors.h"
#include "core/sanitizers.h"
#include "tests/exchange/exchange_support.h"
#include "tests/exchange/torch_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Damage = std::function<void(const fs::path&)>;

struct Case {
    std::string what;
    Damage damage;
};

using Reader = std::function<ExchangedModel(const fs::path&)>;

#if defined(HEDDLE_ADDRESS_SANITIZER)
constexpr bool counts_memory = false;  // AddressSanitizer keeps what was freed
#else
constexpr bool counts_memory = true;
#endif

std::int64_t peak_kilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
    return 0;
}

std::uintmax_t bytes_in(const fs::path& path) {
    if (!fs::is_directory(path)) return fs::file_size(path);
    std::uintmax_t sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) sum += entry.file_size();
    return sum;
}

enum Outcome { refused, accepted, without_its_name, greedy, another_exception };

/// The end of reading the model, in a child process.
Outcome outcome_of(const Reader& read, const fs::path& path) {
    const std::int64_t before = peak_kilobytes();
    try {
        to_heddle(read(path), path.string());
        return accepted;
    } catch (const Error& error) {
        constexpr std::int64_t slack = 8 << 10;  // kB: the child's own
        if (counts_memory && peak_kilobytes() - before > 2 * static_cast<std::int64_t>(bytes_in(path) >> 10) + slack)
            return greedy;
        return std::string_view(error.what()).find(path.string()) == std::string_view::npos ? without_its_name : refused;
    } catch (...) {
        return another_exception;
    }
}

void expect_refused(const Reader& read, const fs::path& path, const std::string& what) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);  // none may hang
        _exit(outcome_of(read, path));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << what << ": signal " << WTERMSIG(status);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, refused) << what;
}

/// Each case damages a copy of the model.
int expect_all_refused(const fs::path& whole, const Reader& read, const std::vector<Case>& cases) {
    for (const Case& each : cases) {
        const TemporaryFolder folder;
        const fs::path copy = folder.path() / whole.filename();
        fs::copy(whole, copy, fs::copy_options::recursive);
        each.damage(copy);
        expect_refused(read, copy, each.what);
    }
    return static_cast<int>(cases.size());
}

void write(const fs::path& path, const std::string& bytes) { write_file_atomically(path, bytes); }

/// Damages of any file: cut off, empty, missing, longer, other bytes, a folder.
std::vector<Case> damages_of_file(const std::string& file, bool needed) {
    const auto changed = [&](const std::string& how, const std::function<std::string(std::string)>& change) {
        return Case{file + ": " + how, [=](const fs::path& folder) { write(folder / file, change(read_file(folder / file))); }};
    };
    std::vector<Case> cases;
    for (const int eighths : {0, 1, 3, 5, 7})
        cases.push_back(changed(fmt::format("cut at {}/8", eighths), [=](std::string bytes) {
            bytes.resize(bytes.size() * static_cast<std::size_t>(eighths) / 8);
            return bytes;
        }));
    cases.push_back(changed("the last byte is missing", [](std::string bytes) {
        while (bytes.ends_with('\n')) bytes.pop_back();
        bytes.pop_back();
        return bytes;
    }));
    cases.push_back(changed("more follows", [](const std::string& bytes) { return bytes + "\x7f more"; }));
    cases.push_back(changed("other bytes", [](std::string bytes) {
        Sequence random(bytes.size());
        for (char& byte : bytes) byte = static_cast<char>(random.below(256));
        return bytes;
    }));
    if (needed) cases.push_back({file + ": missing", [=](const fs::path& folder) { fs::remove(folder / file); }});
    cases.push_back({file + ": a folder", [=](const fs::path& folder) {
                         fs::remove(folder / file);
                         fs::create_directory(folder / file);
                     }});
    return cases;
}

Case with_json(const std::string& file, const std::string& name, const json& value) {
    return {fmt::format("{}: {} is {}", file, name, value.dump()), [=](const fs::path& folder) {
                json content = json::parse(read_file(folder / file));
                content[name] = value;
                write(folder / file, content.dump());
            }};
}

void append(std::vector<Case>& cases, std::vector<Case> more) {
    for (Case& each : more) cases.push_back(std::move(each));
}

/// The first occurrence of `from` becomes `to`, of the same length.
Case with_bytes(const std::string& file, const std::string& from, const std::string& to, std::size_t offset = 0) {
    return {fmt::format("{}: {} + {} overwritten", file, from, offset), [=](const fs::path& folder) {
                std::string bytes = read_file(folder / file);
                const std::size_t at = bytes.find(from);
                ASSERT_NE(at, std::string::npos) << from;
                bytes.replace(at + offset, to.size(), to);
                write(folder / file, bytes);
            }};
}

ExchangedModel small_model() {
    nn::TransformerOptions options;
    options.norm = nn::NormPlace::post;
    options.positions = nn::Positions::sines_first;
    return exchanged(toy_model(options));
}

std::vector<Case> hostile_configurations() {
    std::vector<Case> cases;
    for (const char* name : {"d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads",
                             "encoder_ffn_dim", "decoder_ffn_dim", "vocab_size"})
        for (const json& value :
             {json(-1), json(0), json(7), json(std::int64_t{1} << 62), json(1.5), json("2"), json::array({2})})
            cases.push_back(with_json("config.json", name, value));
    for (const char* name : {"pad_token_id", "eos_token_id", "decoder_start_token_id"})
        for (const json& value : {json(-1), json(100000), json(1), json("</s>"), json::array({3})})
            cases.push_back(with_json("config.json", name, value));
    for (const char* name : {"tie_word_embeddings", "share_encoder_decoder_embeddings"})
        for (const json& value : {json(false), json(1), json("true")}) cases.push_back(with_json("config.json", name, value));
    for (const json& value : {json("os.system"), json(3), json("gelu_fast_new")})
        cases.push_back(with_json("config.json", "activation_function", value));
    for (const json& value : {json("bert"), json(0), json::object()})
        cases.push_back(with_json("config.json", "model_type", value));
    for (const json& value : {json(-0.1), json(1.0), json("0")}) cases.push_back(with_json("config.json", "dropout", value));
    for (const json& value : {json(-1), json(0), json(1 << 20), json(std::int64_t{1} << 40), json("512")})
        cases.push_back(with_json("config.json", "max_position_embeddings", value));
    cases.push_back({"config.json: nested deeply", [](const fs::path& folder) {
                         write(folder / "config.json", std::string(1 << 19, '[') + std::string(1 << 19, ']'));
                     }});
    cases.push_back({"config.json: large", [](const fs::path& folder) {
                         write(folder / "config.json", "{\"model_type\": \"marian\"" + std::string(4 << 20, ' ') + "}");
                     }});
    for (const json& value : {json(-1), json(10.5), json(1e300), json("1")})
        cases.push_back(with_json("generation_config.json", "length_penalty", value));
    cases.push_back(with_json("tokenizer_config.json", "unk_token", "<nothing>"));
    cases.push_back(with_json("tokenizer_config.json", "eos_token", 3));
    return cases;
}

std::vector<Case> hostile_vocabularies(const std::string& file) {
    std::vector<Case> cases;
    for (const json& value : {json(-1), json(5), json(1000000000), json(1e300), json("7"), json(nullptr)})
        cases.push_back(with_json(file, "new", value));
    cases.push_back({file + ": a million ids", [=](const fs::path& folder) {
                         std::string many = "{\"</s>\": 0, \"<unk>\": 1";
                         for (int i = 2; i < 1'100'000; ++i) many += fmt::format(",\"{}\":{}", i, i);
                         write(folder / file, many + "}");
                     }});
    cases.push_back({file + ": a list", [=](const fs::path& folder) { write(folder / file, "[\"</s>\", \"<unk>\"]"); }});
    cases.push_back({file + ": a long token", [=](const fs::path& folder) {
                         json content = json::parse(read_file(folder / file));
                         content[std::string(5000, 'x')] = content.size();
                         write(folder / file, content.dump());
                     }});
    return cases;
}

std::vector<Case> hostile_headers() {
    std::vector<Case> cases;
    const std::string file = "model.safetensors", name = "\"final_logits_bias\"";
    cases.push_back(with_bytes(file, name, "\"final_logits_bias/"));
    cases.push_back(with_bytes(file, name, "\"../../etc/password"));
    cases.push_back(with_bytes(file, "\"F32\"", "\"I32\""));
    cases.push_back(with_bytes(file, "\"F32\"", "\"F64\""));
    cases.push_back(with_bytes(file, "self_attn.k_proj.weight", "self_attn.q_proj.weight"));
    cases.push_back(with_bytes(file, "model.shared.weight", "model.sharer.weight"));
    for (const char* lengths :
         {"\xff\xff\xff\xff\xff\xff\xff\x7f", "\xff\xff\xff\x00\x00\x00\x00\x00", "\x01\x00\x00\x00\x00\x00\x00\x00"})
        cases.push_back({"model.safetensors: its header has another length", [=](const fs::path& folder) {
                             std::string bytes = read_file(folder / "model.safetensors");
                             bytes.replace(0, 8, std::string(lengths, 8));
                             write(folder / "model.safetensors", bytes);
                         }});
    cases.push_back({"model.safetensors: only an index of several", [](const fs::path& folder) {
                         fs::rename(folder / "model.safetensors", folder / "model.safetensors.index.json");
                     }});
    return cases;
}

TEST(HostileModels, OfTransformersAreRefused) {
    const WithThreads one(1);  // children have no other
    const TemporaryFolder folder;
    const fs::path model = folder.path() / "model";
    write_export(to_huggingface(small_model(), ExportDType::f32, "toy"), model);
    to_heddle(read_huggingface(model), "whole");
    std::vector<Case> cases = hostile_configurations();
    for (const char* file : {"config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json"})
        append(cases, damages_of_file(file, true));
    for (const char* file : {"tokenizer_config.json", "generation_config.json"}) append(cases, damages_of_file(file, false));
    append(cases, hostile_vocabularies("vocab.json"));
    append(cases, hostile_headers());
    EXPECT_GE(expect_all_refused(model, read_huggingface, cases), 170);
}

/// The tensors of a MarianMT model.
std::map<std::string, Tensor> tensors_of(const fs::path& file) {
    const SafetensorsFile opened(file);
    std::map<std::string, Tensor> tensors;
    for (const std::string& name : opened.names()) tensors.emplace(name, opened.load(name));
    return tensors;
}

TEST(HostileModels, OfPyTorchAreRefused) {
    const WithThreads one(1);
    const TemporaryFolder folder;
    const fs::path model = folder.path() / "model";
    write_export(to_huggingface(small_model(), ExportDType::f32, "toy"), model);
    const std::map<std::string, Tensor> tensors = tensors_of(model / "model.safetensors");
    const ExchangedModel safe = read_huggingface(model);
    fs::remove(model / "model.safetensors");
    const std::string file = "pytorch_model.bin";
    write_torch_file(model / file, tensors, ExportDType::f32);
    EXPECT_EQ(differing_tensors(read_huggingface(model), safe), "") << "the same model in the other kind of file";
    std::vector<Case> cases = damages_of_file(file, true);
    const auto changed = [&](const std::string& what, const std::function<void(std::map<std::string, Tensor>&)>& change) {
        cases.push_back({what, [=](const fs::path& copy) {
                             std::map<std::string, Tensor> other = tensors;
                             change(other);
                             write_torch_file(copy / file, other, ExportDType::f32);
                         }});
    };
    changed("a tensor is missing", [](auto& other) { other.erase("model.encoder.layers.1.fc1.weight"); });
    changed("a layer more",
            [](auto& other) { other["model.encoder.layers.2.fc1.weight"] = other["model.encoder.layers.1.fc1.weight"]; });
    changed("a layer of another name", [](auto& other) { other["model.encoder.layers.01.fc1.weight"] = Tensor::zeros({2}); });
    changed("a path for a name", [](auto& other) { other["../../../tmp/harm"] = Tensor::zeros({2}); });
    changed("another shape", [](auto& other) { other["model.encoder.layers.1.fc1.weight"] = Tensor::zeros({2, 2}); });
    changed("a scalar", [](auto& other) { other["final_logits_bias"] = Tensor::zeros({}); });
    changed("an empty tensor", [](auto& other) { other["model.shared.weight"] = Tensor::zeros({0, 24}); });
    changed("NaN", [](auto& other) { other["model.shared.weight"] = Tensor::full(other["model.shared.weight"].shape(), NAN); });
    changed("another tied matrix",
            [](auto& other) { other["lm_head.weight"] = Tensor::zeros(other["model.shared.weight"].shape()); });
    changed("positions of another shape", [](auto& other) {
        other["model.encoder.embed_positions.weight"] = other["model.decoder.embed_positions.weight"] = Tensor::zeros({7, 24});
    });
    for (const char* pickle : {"\x80\x02"
                               "cos\nsystem\n(X\x04\x00\x00\x00trueutR.",
                               "\x80\x04\x95.", "\x80\x02(.",
                               "\x80\x02"
                               "cposix\nsystem\n."})
        cases.push_back({"another pickle", [=](const fs::path& copy) { write_torch_file(copy / file, pickle, {}); }});
    // Small files whose tensors share one storage, and a pickle of many values.
    cases.push_back({"a storage for every tensor", [=](const fs::path& copy) {
                         std::string pickle = "\x80\x02}(";
                         for (const auto& [name, tensor] : tensors)
                             pickle += pickled_text(name) + pickled_tensor("0", tensor.shape(), "FloatStorage", 1 << 14);
                         write_torch_file(copy / file, pickle + "u.", {{"0", std::string(1 << 16, '\0')}});
                     }});
    cases.push_back({"many values", [=](const fs::path& copy) {
                         write_torch_file(copy / file, "\x80\x02" + std::string((1 << 18), '}') + ".", {});
                     }});
    // Damages of the archive itself.
    cases.push_back(with_bytes(file, "model/data/1", "model/../../"));
    cases.push_back(with_bytes(file, std::string("PK\x03\x04", 4), std::string("\x08\x00", 2), 8));  // deflated
    cases.push_back(with_bytes(file, std::string("PK\x05\x06", 4), "\xff\xff\xff\xff", 12));
    cases.push_back(with_bytes(file, std::string("PK\x01\x02", 4), "\xff\xff\xff\x7f", 20));
    cases.push_back(with_bytes(file, std::string("PK\x01\x02", 4), "\xff\xff\xff\x7f", 42));
    cases.push_back({"PyTorch's older form", [=](const fs::path& copy) {
                         write(copy / file, std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15));
                     }});
    EXPECT_GE(expect_all_refused(model, read_huggingface, cases), 30);
}

std::vector<Case> hostile_variables() {
    std::vector<Case> cases;
    const std::string file = "model.bin", weight = "decoder/layer_0/ffn/linear_0/weight";
    const std::size_t rank = weight.size() + 1, extents = rank + 1, type = extents + 8, bytes = type + 1;
    const std::string most = "\xff\xff\xff\xff";
    cases.push_back(with_bytes(file, weight, "\xff", rank));
    cases.push_back(with_bytes(file, weight, std::string(1, '\0'), rank));
    cases.push_back(with_bytes(file, weight, most, extents));
    cases.push_back(with_bytes(file, weight, most + most, extents));
    cases.push_back(with_bytes(file, weight, std::string("\x18\0\0\0\x20\0\0\0", 8), extents));  // transposed
    for (const char* other : {"\x01", "\x03", "\x04", "\x05", "\x06", "\xff"})
        cases.push_back(with_bytes(file, weight, other, type));
    cases.push_back(with_bytes(file, weight, most, bytes));
    cases.push_back(with_bytes(file, weight, std::string(4, '\0'), bytes));
    cases.push_back(with_bytes(file, weight, "decoder/layer_9/ffn/linear_0/weight"));
    cases.push_back(with_bytes(file, weight, "../../../../../../../../../etc/harm"));
    cases.push_back(with_bytes(file, weight, std::string("decoder/layer_0/ffn/\0inear_0/weight", 35)));
    cases.push_back(with_bytes(file, weight, "decoder/layer_0/ffn/linear_1/weight"));
    cases.push_back(with_bytes(file, "TransformerSpec", "WhisperSpecific"));
    cases.push_back(with_bytes(file, "TransformerSpec", "\x01", 16));  // the revision
    cases.push_back(with_bytes(file, "TransformerSpec", "\x08", 16));
    cases.push_back(with_bytes(file, "TransformerSpec", most, 20));  // the number of variables
    cases.push_back(with_bytes(file, "TransformerSpec", std::string(4, '\0'), 20));
    cases.push_back(with_bytes(file, std::string("decoder/num_heads\0\0\x02\x02\0\0\0", 24), std::string("\xff\x7f", 2), 24));
    cases.push_back(with_bytes(file, std::string("decoder/num_heads\0\0\x02\x02\0\0\0", 24), std::string("\0\0", 2), 24));
    cases.push_back(with_bytes(file, std::string("decoder/activation\0\0\x01\x01\0\0\0", 25), "\x05", 25));
    cases.push_back({"two and a half heads", [](const fs::path& folder) {
                         std::string all = read_file(folder / "model.bin");
                         for (const std::string side : {"encoder", "decoder"}) {
                             const std::size_t end = all.find(side + "/num_heads") + 17;
                             all[end + 2] = 4;                                     // f16
                             all.replace(end + 7, 2, std::string("\x00\x41", 2));  // 2.5
                         }
                         write(folder / "model.bin", all);
                     }});
    cases.push_back({"many aliases", [](const fs::path& folder) {
                         const std::string whole = read_file(folder / "model.bin"), to = "decoder/embeddings/weight";
                         constexpr std::uint32_t count = 400'000;
                         std::string all = whole.substr(0, whole.find(std::string("\x1a\0decoder/projection/weight", 27)));
                         ASSERT_LT(all.size(), whole.size());
                         all.resize(all.size() - 4);
                         all.append(reinterpret_cast<const char*>(&count), sizeof count);
                         for (std::uint32_t i = 0; i < count; ++i) {
                             const std::string name = fmt::format("{}", i);
                             all += std::string{static_cast<char>(name.size() + 1), '\0'} + name + '\0';
                             all += std::string{static_cast<char>(to.size() + 1), '\0'} + to + '\0';
                         }
                         write(folder / "model.bin", all);
                     }});
    cases.push_back({"an alias of an alias that is missing", [](const fs::path& folder) {
                         std::string all = read_file(folder / "model.bin");
                         const std::size_t at = all.rfind("decoder/embeddings/weight");
                         all.replace(at, 7, "decodes");
                         write(folder / "model.bin", all);
                     }});
    return cases;
}

TEST(HostileModels, OfCTranslate2AreRefused) {
    const WithThreads one(1);
    const TemporaryFolder folder;
    const fs::path model = folder.path() / "model";
    write_export(to_ctranslate2(small_model(), ExportDType::f32, "toy"), model);
    const Reader read = [](const fs::path& path) { return read_ctranslate2(path); };
    to_heddle(read(model), "whole");
    std::vector<Case> cases = hostile_variables();
    for (const char* file : {"config.json", "model.bin", "shared_vocabulary.json", "sentencepiece.model"})
        append(cases, damages_of_file(file, true));
    for (const char* name : {"unk_token", "eos_token", "decoder_start_token"})
        for (const json& value : {json(3), json("<nothing>"), json(nullptr)})
            cases.push_back(with_json("config.json", name, value));
    for (const json& value : {json("1e-5"), json(0), json(-1)})
        cases.push_back(with_json("config.json", "layer_norm_epsilon", value));
    cases.push_back(with_json("config.json", "add_source_bos", 1));
    EXPECT_GE(expect_all_refused(model, read, cases), 70);
}

TEST(HostileModels, OfArgosAreRefused) {
    const WithThreads one(1);
    ExchangedModel small = small_model();
    small.source_language = "de", small.target_language = "en";
    const Export made = to_argos(small, ExportDType::f32, "toy");
    const TemporaryFolder folder;
    const fs::path package = folder.path() / "de_en.argosmodel";
    const auto write_zip = [](const fs::path& path, const std::vector<ExportedFile>& files) {
        ZipWriter zip(path);
        for (const ExportedFile& file : files) zip.add(file.name, file.bytes);
        zip.commit();
    };
    write_zip(package, made.files);
    const Reader read = [](const fs::path& path) { return read_argos(path); };
    to_heddle(read(package), "whole");
    std::vector<Case> cases;
    for (std::size_t missing = 0; missing < made.files.size(); ++missing)
        cases.push_back({made.files[missing].name + " is missing", [=](const fs::path& path) {
                             std::vector<ExportedFile> others = made.files;
                             others.erase(others.begin() + static_cast<std::ptrdiff_t>(missing));
                             write_zip(path, others);
                         }});
    EXPECT_GE(expect_all_refused(package, read, cases), 5);
}

}  // namespace
}  // namespace heddle::app
