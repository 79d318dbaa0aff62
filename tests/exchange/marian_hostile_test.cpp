// Damaged and hostile files of Marian: each is refused with its name and the defect, and takes at most twice its size in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "apps/exchange/npz.h"
#include "core/storage.h"
#include "tests/exchange/marian_support.h"
#include "tests/support.h"

namespace {

// The memory that the program holds outside of tensors, and the most since it was last reset.
std::atomic<std::int64_t> held{0}, most_held{0};

void* counted(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    const std::int64_t now = held += static_cast<std::int64_t>(malloc_usable_size(memory));
    for (std::int64_t most = most_held; now > most && !most_held.compare_exchange_weak(most, now);) continue;
    return memory;
}
void uncounted(void* memory) {
    held -= static_cast<std::int64_t>(malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;
using Arrays = std::map<std::string, std::string>;  // the bytes of NAME.npy

std::string little_endian(std::uint64_t value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
}
std::uint64_t number_at(const std::string& bytes, std::size_t at, int size) {
    std::uint64_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
}
std::string replaced(std::string text, std::string_view what, std::string_view with) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

std::string npy(std::string_view header, std::string_view elements) {
    return std::string("\x93NUMPY\x01", 7) + '\0' + little_endian(header.size(), 2) + std::string(header) + std::string(elements);
}
std::string npz_of(const Arrays& arrays) {
    ZipWriter zip;
    for (const auto& [name, bytes] : arrays) zip.add(name + ".npy", bytes);
    return zip.take();
}

class MarianHostile : public testing::Test {
  protected:
    MarianHostile() {
        const HeddleModel model = made_model(marian_cases[0], Normalization::none);
        for (const ExportedFile& file : to_marian(exchanged(model), ExportDType::f32, "run").files)
            files_[file.name] = file.bytes;
        write_export({.files = {{"model.npz", files_["model.npz"]}}, .notes = {}}, folder_.path());
        const ZipFile zip(folder_ / "model.npz");
        for (const std::string& name : zip.names()) {
            const auto bytes = zip.bytes(name);
            arrays_[name.substr(0, name.size() - 4)] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        }
        const std::string& array = arrays_["special:model.yml"];
        yml_ = array.substr(array.find('\n') + 1);
        yml_.erase(yml_.find('\0'));
    }
    ~MarianHostile() override { EXPECT_GT(refused_, 0); }

    HeddleModel read(const Files& files) {
        fs::remove_all(folder_.path());
        fs::create_directory(folder_.path());
        for (const auto& [name, bytes] : files) std::ofstream(folder_ / name.c_str(), std::ios::binary) << bytes;
        return to_heddle(read_marian(folder_.path()), folder_.path().string());
    }

    void refuses(const Files& files, const std::string& reason) {
        constexpr std::int64_t fixed = 1 << 20;  // whatever the file's size
        std::int64_t size = 0;
        for (const auto& [name, bytes] : files) size += static_cast<std::int64_t>(bytes.size());
        release_kept_memory();
        reset_peak_memory();
        const std::int64_t before = held + memory_statistics().in_use;
        most_held = held.load();
        const std::string message = error_of([&] { read(files); });
        const std::int64_t peak = most_held + memory_statistics().peak - before;
        EXPECT_LE(peak, 2 * size + fixed) << reason;
        EXPECT_THAT(message, testing::AllOf(HasSubstr(folder_.path().string()), HasSubstr(reason)));
        ++refused_;
    }
    void refuses_npz(const std::string& npz, const std::string& reason) {
        Files files = files_;
        files["model.npz"] = npz;
        refuses(files, reason);
    }
    void refuses_array(const std::string& name, const std::string& bytes, const std::string& reason) {
        Arrays arrays = arrays_;
        arrays[name] = bytes;
        refuses_npz(npz_of(arrays), reason);
    }
    void refuses_yml(const std::string& yml, const std::string& reason) {
        const std::string header = fmt::format("{{'descr': '<i1', 'fortran_order': False, 'shape': ({},), }}\n", yml.size());
        refuses_array("special:model.yml", npy(header, yml), reason);
    }
    void refuses_option(const std::string& line, const std::string& with, const std::string& reason) {
        refuses_yml(replaced(yml_, line + "\n", with), reason);
    }

    TemporaryFolder folder_;
    Files files_;
    Arrays arrays_;
    std::string yml_;
    int refused_ = 0;
};

TEST_F(MarianHostile, ReadsTheFilesThatItDamages) {
    EXPECT_EQ(npz_of(arrays_).size(), files_["model.npz"].size());
    EXPECT_TRUE(read(files_).model != nullptr);
    refuses_npz("", "no ZIP archive");
}

TEST_F(MarianHostile, TruncatedAndLongerArchives) {
    const std::string& npz = files_["model.npz"];
    for (std::size_t i = 0; i < 40; ++i) refuses_npz(npz.substr(0, npz.size() * i / 40), "no ZIP archive, or its end is missing");
    for (std::size_t lacking = 1; lacking <= 22; lacking += 3) refuses_npz(npz.substr(0, npz.size() - lacking), "end is missing");
    refuses_npz(npz + "x", "end is missing");
    refuses_npz("x" + npz, "does not end where the end record begins");
    refuses_npz(npz + npz, "does not end where the end record begins");
}

TEST_F(MarianHostile, DirectoriesThatLie) {
    const std::string& npz = files_["model.npz"];
    const std::size_t end = npz.size() - 22, directory = number_at(npz, end + 16, 4), count = arrays_.size();
    const auto patched = [&](std::size_t at, std::uint64_t value, int size, const std::string& reason) {
        std::string copy = npz;
        copy.replace(at, static_cast<std::size_t>(size), little_endian(value, size));
        refuses_npz(copy, reason);
    };
    patched(end + 4, 1, 2, "several volumes");
    patched(end + 10, count + 1, 2, fmt::format("holds {} entries, and says {}", count, count + 1));
    patched(end + 10, count - 1, 2, "holds more entries than it says");
    patched(end + 10, 0xffff, 2, "and says 65535");
    patched(end + 12, 0, 4, "does not end where");
    patched(end + 16, directory + 1, 4, "does not end where");
    patched(end + 20, 7, 2, "end is missing");
    patched(directory, 0, 4, "an entry of its directory should begin");
    patched(directory + 8, 1, 2, "is encrypted");
    patched(directory + 10, 8, 2, "is compressed");
    patched(directory + 16, 1, 4, "does not agree with the directory");
    patched(directory + 20, 1, 4, "has two sizes");
    patched(directory + 24, 0xfffffffe, 4, "has two sizes");
    patched(directory + 24, 0xffffffff, 4, "a ZIP64 field is missing");
    patched(directory + 28, 0xffff, 2, "reaches too far");
    patched(directory + 28, 3, 2, "the local header of Wem does not agree");
    patched(directory + 30, 0xffff, 2, "reaches too far");
    patched(directory + 32, 0xffff, 2, "reaches too far");
    patched(directory + 42, 1, 4, "has no local header at byte 1");
    patched(directory + 42, 0xfffffff0, 4, "has no local header");
    patched(0, 0, 4, "has no local header at byte 0");
    patched(6, 8, 2, "does not agree with the directory");
    patched(8, 8, 2, "does not agree with the directory");
    patched(14, 1, 4, "does not agree with the directory");
    patched(22, 1, 4, "does not agree with the directory");
    patched(26, 1, 2, "does not agree with the directory");
    patched(26, 0xffff, 2, "the local header of Wemb.npy reaches too far");
    patched(30, 'X', 1, "does not agree with the directory");
    patched(60, 0xff, 1, "its check sum is not the directory's");
    // Both say that the first entry is as large as the file, or as 4 GB.
    for (const std::uint64_t size : {std::uint64_t{npz.size()}, std::uint64_t{0xfffffff0}}) {
        std::string copy = npz;
        for (const std::size_t at : {std::size_t{18}, std::size_t{22}, directory + 20, directory + 24})
            copy.replace(at, 4, little_endian(size, 4));
        refuses_npz(copy, "more than there are");
    }
}

TEST_F(MarianHostile, EntriesWithinEntriesAndOddNames) {
    // The second entry lies in the bytes of the first.
    ZipWriter inner;
    inner.add("b.npy", std::string(50, 'b'));
    const std::string local = inner.take().substr(0, 30 + 5 + 50);
    ZipWriter outer;
    outer.add("a.npy", local);
    outer.add("b.npy", std::string(50, 'b'));
    std::string npz = outer.take();
    const std::size_t directory = number_at(npz, npz.size() - 6, 4), second = directory + 46 + 5;
    npz.replace(second + 42, 4, little_endian(30 + 5, 4));
    refuses_npz(npz, "overlap");
    // Both entries are the same bytes: a small file would seem large.
    npz.replace(second + 42, 4, little_endian(0, 4));
    refuses_npz(npz, "does not agree with the directory");
    for (const char* name : {"../a.npy", "/a.npy", "a/../../b.npy", "a\\b.npy", "a\x01.npy", "..", "a/.."}) {
        ZipWriter zip;
        zip.add(name, "x");
        refuses_npz(zip.take(), "the name '");
    }
    ZipWriter other;
    other.add("readme.txt", "x");
    refuses_npz(other.take(), "the entry readme.txt is no array");
    // The same name twice.
    std::string twice = files_["model.npz"];
    const std::string name = "decoder_l1_self_bk", same = "decoder_l1_self_bq";
    for (std::size_t at = twice.find(same); at != std::string::npos; at = twice.find(same)) twice.replace(at, name.size(), name);
    refuses_npz(twice, "decoder_l1_self_bk.npy is there twice");
}

TEST_F(MarianHostile, ArraysOfNumPyThatLie) {
    const std::string name = "decoder_l1_self_bk", good = arrays_.at(name), data = good.substr(good.size() - 64);
    const auto header = [&](const std::string& text, const std::string& reason) { refuses_array(name, npy(text, data), reason); };
    const std::string right = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16), }\n";
    refuses_array(name, "", "does not begin as an array");
    refuses_array(name, good.substr(0, 9), "does not begin as an array");
    refuses_array(name, replaced(good, "NUMPY", "NUMPI"), "does not begin as an array");
    for (const char version : {'\0', '\4', '\xff'}) {
        std::string copy = good;
        copy[6] = version;
        refuses_array(name, copy, "its version is unknown");
    }
    for (const std::uint64_t length : {std::uint64_t{0xffff}, std::uint64_t{good.size()}}) {
        std::string copy = good;
        copy.replace(8, 2, little_endian(length, 2));
        refuses_array(name, copy, "its header reaches too far");
    }
    std::string version_two = good;
    version_two[6] = 2;
    refuses_array(name, version_two, "its header reaches too far");
    refuses_array(name, good.substr(0, good.size() - 1), "63 bytes of elements do not fit");
    refuses_array(name, good + "x", "65 bytes of elements do not fit");
    header(replaced(right, "(1, 16)", "(1, 17)"), "do not fit its shape [1, 17]");
    header(replaced(right, "(1, 16)", "(16, 1)"), "is [16, 1], wanted [1, 16]");
    header(replaced(right, "(1, 16)", "(1, -16)"), "is not a dict");
    header(replaced(right, "(1, 16)", "(4611686018427387904, 4611686018427387904)"), "do not fit its shape");
    header(replaced(right, "(1, 16)", "(99999999999999999999, 1)"), "is not a dict");
    header(replaced(right, "(1, 16)", "(1, 1, 1, 1, 1, 1, 1, 1, 16)"), "is not a dict");
    header(replaced(right, "(1, 16)", "1, 16"), "is not a dict");
    header(replaced(right, "False", "True"), "in Fortran's order");
    header(replaced(right, "False", "0"), "is not a dict");
    header(replaced(right, "<f4", ">f4"), "has the dtype >f4");
    header(replaced(right, "<f4", "<f3"), "has the dtype <f3");
    header(replaced(right, "<f4", "<i4"), "has the dtype <i4, wanted <f4");
    header(replaced(replaced(right, "<f4", "<f2"), "16", "32"), "is [1, 32], wanted [1, 16]");
    header(replaced(right, "'<f4'", "[('a', '<f4')]"), "is not a dict");
    header(replaced(right, "'descr': '<f4', ", ""), "is not a dict");
    header(replaced(right, "}", "} x"), "is not a dict");
    for (const std::string& no_dict : {std::string(), std::string("{"), std::string(60000, '(')})
        header(no_dict, "is not a dict");
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::string copy = good;
        copy.replace(copy.size() - 4, 4, reinterpret_cast<const char*>(&value), 4);
        refuses_array(name, copy, "holds NaN or infinity");
    }
}

TEST_F(MarianHostile, ArraysThatAreMissingOrLeftOver) {
    for (const auto& [name, bytes] : arrays_) {
        if (name.starts_with("special:")) continue;
        Arrays fewer = arrays_;
        fewer.erase(name);
        refuses_npz(npz_of(fewer), fmt::format("the array {} is missing", name));
    }
    Arrays no_options = arrays_;
    no_options.erase("special:model.yml");
    refuses_npz(npz_of(no_options), "nothing says how the model is built");
    const std::string any = arrays_.at("decoder_l1_self_bk");
    refuses_array("decoder_l3_self_bk", any, "decoder_l3_self_bk has no place in the model");
    refuses_array("Wpos", any, "Wpos has no place");
    refuses_array("decoder_l1_self_Wk_QuantMultA", any, "in 8 bits (intgemm)");
    refuses_array("encoder_l1_self_Wq", any, "encoder_l1_self_Wq is [1, 16], wanted [16, 16]");
    refuses_array("Wemb", any, "Wemb is [1, 16], wanted [60, 16]");
}

TEST_F(MarianHostile, OptionsOfOtherModels) {
    const auto option = [&](const std::string& key, const std::string& now, const std::string& other) {
        refuses_option(key + ": " + now, key + ": " + other + "\n", key + " is '" + other + "'");
    };
    option("type", "transformer", "s2s");
    option("transformer-decoder-autoreg", "self-attention", "rnn");
    option("transformer-ffn-activation", "swish", "gelu");
    option("transformer-ffn-depth", "2", "3");
    option("transformer-decoder-ffn-depth", "0", "1");
    option("transformer-postprocess", "dan", "dah");
    option("transformer-postprocess", "dan", "dna");
    option("transformer-postprocess-emb", "d", "n");
    option("transformer-no-projection", "false", "true");
    option("transformer-no-bias", "false", "true");
    option("transformer-no-affine", "false", "true");
    option("transformer-pool", "false", "true");
    option("transformer-attention-mask", "default", "alibi");
    option("transformer-train-position-embeddings", "false", "true");
    option("transformer-disable-position-embeddings", "false", "true");
    option("right-left", "false", "true");
    option("factors-dim-emb", "0", "8");
    option("lemma-dim-emb", "0", "8");
    option("lemma-dependency", "\"\"", "soft-transformer-layer");
    option("ulr", "false", "true");
    refuses_option("transformer-preprocess: \"\"", "transformer-preprocess: n\n", "before each sublayer and after it");
    refuses_option("transformer-preprocess: \"\"", "transformer-preprocess: h\n", "transformer-preprocess is 'h'");
    refuses_option("transformer-postprocess: dan", "transformer-postprocess: da\n", "norms are missing");
    refuses_option("transformer-postprocess-top: \"\"", "transformer-postprocess-top: a\n", "transformer-postprocess-top is 'a'");
    refuses_option("transformer-tied-layers:\n  []", "transformer-tied-layers:\n  - 1\n  - 1\n",
                   "transformer-tied-layers is [1, 1]");
    refuses_option("input-types:\n  []", "input-types:\n  - class\n  - sequence\n", "input-types has 'class'");
    refuses_option("transformer-decoder-dim-ffn: 0", "transformer-decoder-dim-ffn: 12\n", "transformer-decoder-dim-ffn is 12");
}

TEST_F(MarianHostile, OptionsThatLie) {
    refuses_option("dim-emb: 16", "dim-emb: 17\n", "no possible model");
    refuses_option("dim-emb: 16", "dim-emb: 0\n", "no possible model");
    refuses_option("dim-emb: 16", "dim-emb: 1000000000000\n", "no possible model");
    refuses_option("dim-emb: 16", "dim-emb: 32\n", "Wemb is [60, 16], wanted [60, 32]");
    refuses_option("dim-emb: 16", "dim-emb: 99999999999999999999\n", "wanted a whole number");
    refuses_option("dim-emb: 16", "dim-emb:\n  - 16\n  - 16\n", "wanted one value");
    refuses_option("transformer-heads: 2", "transformer-heads: 3\n", "no possible model");
    refuses_option("transformer-heads: 2", "transformer-heads: 0\n", "no possible model");
    refuses_option("transformer-dim-ffn: 24", "transformer-dim-ffn: 48\n", "encoder_l1_ffn_W1 is [16, 24], wanted [16, 48]");
    refuses_option("enc-depth: 2", "enc-depth: 3\n", "encoder_l3");
    refuses_option("enc-depth: 2", "enc-depth: 1\n", "encoder_l2");
    refuses_option("enc-depth: 2", "enc-depth: 1000000000000\n", "layers");
    refuses_option("enc-depth: 2", "enc-depth: -1\n", "no possible model");
    refuses_option("dec-depth: 1", "dec-depth: 1000000000\n", "layers");
    refuses_option("dim-vocabs:\n  - 60\n  - 60", "dim-vocabs:\n  - 60\n", "dim-vocabs is [60]");
    refuses_option("dim-vocabs:\n  - 60\n  - 60", "dim-vocabs:\n  - 60\n  - 61\n", "no possible model");
    refuses_option("dim-vocabs:\n  - 60\n  - 60", "dim-vocabs:\n  - 99\n  - 99\n", "Wemb is [60, 16], wanted [99, 16]");
    refuses_option("tied-embeddings-all: true", "tied-embeddings-all: maybe\n", "wanted true or false");
    refuses_option("tied-embeddings-all: true", "tied-embeddings-all: false\n", "encoder_Wemb is missing");
    refuses_option("output-omit-bias: false", "output-omit-bias: true\n", "decoder_ff_logit_out_b has no place");
    refuses_option("transformer-postprocess-top: \"\"", "transformer-postprocess-top: n\n", "encoder_top_ln_scale is missing");
    refuses_option("type: transformer", "", "it has no type");
}

TEST_F(MarianHostile, TextThatIsNoYaml) {
    const auto text = [&](const std::string& added, const std::string& reason) { refuses_yml(added + yml_, reason); };
    text("no colon\n", "1: this is no option");
    text(": value\n", "1: this is no option");
    text("a b: c\n", "1: this is no option");
    text("a:\n  b: c\n", "2: an option within an option");
    text("- value\n", "1: a value without an option");
    text("a: b\n- c\n", "2: a value without an option");
    text("a: \"open\n", "1: the quote is not closed");
    text("a: \"\\x\"\n", "1: this escape is not understood");
    text("a: [b, c\n", "1: the list is not closed");
    text("a: [b, [c]]\n", "1: this value is not understood");
    text("a: [b] c\n", "1: there is more after the value");
    text("a: &b c\n", "1: this value is not understood");
    text("a: {b: c}\n", "1: this value is not understood");
    text("a: b\na: c\n", "2: the option a is there twice");
    text(std::string("\0", 1) + "\n", "there is a NUL within the text");
    refuses_yml("", "it has no type");
    refuses_yml(std::string(2 << 20, ' '), "wanted a text of at most");
    refuses_array("special:model.yml", arrays_.at("Wemb"), "of dtype <f4, wanted a text");
}

TEST_F(MarianHostile, VocabulariesOfOthers) {
    const auto with = [&](std::map<std::string, std::string> changes, const std::string& reason) {
        Files files = files_;
        for (auto& [name, bytes] : changes)
            if (bytes.empty())
                files.erase(name);
            else
                files[name] = bytes;
        refuses(files, reason);
    };
    const std::string& spm = files_["vocab.spm"];
    with({{"vocab.spm", ""}}, "there is no .spm beside it");
    with({{"vocab.spm", ""}, {"a.spm", spm}, {"b.spm", spm}}, "several vocabularies are beside it (a.spm, b.spm)");
    with({{"vocab.spm", "no protobuf"}}, "vocab.spm");
    for (std::size_t i = 1; i < 8; ++i) with({{"vocab.spm", spm.substr(0, spm.size() * i / 8)}}, "vocab");
    const std::string larger = train_vocabulary({.size = 61, .normalization = Normalization::none}, german)->serialized();
    with({{"vocab.spm", larger}}, "the vocabularies have 61 and 61 tokens, but the model 60 and 60");
    with({{"decoder.yml", "vocabs: [../vocab.spm]\n"}}, "leads out of its folder");
    with({{"decoder.yml", "vocabs: [vocab.spm, x/../../vocab.spm]\n"}}, "leads out of its folder");
    with({{"decoder.yml", "vocabs: [vocab.yml]\n"}, {"vocab.yml", "a: 1\n"}}, "only SentencePiece vocabularies");
    with({{"decoder.yml", "vocabs: [vocab.spm, vocab.spm, vocab.spm]\n"}}, "the model has 3 vocabularies");
    with({{"decoder.yml", "vocabs: [vocab.spm, other.spm]\n"}, {"other.spm", larger}}, "tied-embeddings-all");
    with({{"decoder.yml", "vocabs\n"}}, "decoder.yml:1: this is no option");
    with({{"decoder.yml", "normalize: long\n"}}, "wanted a number");
    for (const char* wrong : {"nan", "inf", "-0.5", "11"})
        with({{"decoder.yml", fmt::format("normalize: {}\n", wrong)}}, "decoder.yml: normalize: the length penalty");
    with({{"model.npz.yml", "vocabs\n"}}, "model.npz.yml:1: this is no option");
    with({{"model.npz.yml", "transformer-dropout: 2\n"}}, "dropout is 2");
}

TEST_F(MarianHostile, OtherFilesOfMarian) {
    const std::string binary = little_endian(1, 8) + std::string(100, '\0');
    refuses({{"model.bin", binary}}, "Marian's binary form");
    refuses({{"model.intgemm.alphas.bin", binary}, {"vocab.deen.spm", "x"}}, "take the model that they were made from");
    refuses({{"vocab.spm", files_["vocab.spm"]}}, "there is no .npz");
    refuses({{"a.npz", files_["model.npz"]}, {"b.npz", files_["model.npz"]}}, "several models (a.npz, b.npz)");
    Files optimizer = files_;
    optimizer["model.npz.optimizer.npz"] = "";
    EXPECT_TRUE(read(optimizer).model != nullptr);
}

}  // namespace
}  // namespace heddle::app
