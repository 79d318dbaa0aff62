// core/safetensors.h: a damaged or hostile file gives an Error that names the fault, never a crash.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/random.h"
#include "core/safetensors.h"
#include "tests/support.h"

namespace heddle {
namespace {

/// A file with this header length, header and number of data bytes.
std::string file_text(std::uint64_t length, const std::string& header, std::size_t data) {
    std::string text(8, '\0');
    std::memcpy(text.data(), &length, 8);
    return text + header + std::string(data, '\1');
}
std::string file_text(const std::string& header, std::size_t data) { return file_text(header.size(), header, data); }

/// The header entry of a tensor of four bytes per element.
std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets, const char* dtype = "F32") {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]}";
}

std::string error_of_file(const std::string& text) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "file", text);
    return error_of([&] { SafetensorsFile file(folder / "file"); });
}

struct Fault {
    const char* what;
    std::string text;     ///< the whole file
    std::string message;  ///< part of the expected message
};

std::string repeated(const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
}

std::vector<Fault> faults_of_the_length() {
    const std::string good = "{" + tensor("a", "2", "0,8") + "}";
    return {
        {"empty file", "", "0 bytes, too few"},
        {"shorter than the length", std::string(7, '\0'), "7 bytes, too few"},
        {"length of zero", file_text(0, good, 8), "does not start with '{'"},
        {"length beyond the file", file_text(good.size() + 9, good, 8), "but only"},
        {"length of 2^64 - 1", file_text(~0ULL, good, 8), "more than the 100000000 allowed"},
        {"length of 2^63", file_text(1ULL << 63, good, 8), "more than the 100000000 allowed"},
        {"length that wraps around with its own eight bytes", file_text(~0ULL - 7, good, 8), "more than the"},
        {"length one short", file_text(good.size() - 1, good, 8), "not JSON"},
        {"length one long", file_text(good.size() + 1, good, 8), "not JSON"},
        {"header cut off", file_text(good.size(), good.substr(0, 20), 0), "but only 20 follow"},
    };
}

std::vector<Fault> faults_of_the_json() {
    const auto entry = [](const std::string& body) { return file_text("{\"a\":" + body + "}", 8); };
    const std::string rest = R"("shape":[2],"data_offsets":[0,8])";
    return {
        {"not an object: array", file_text("[]", 0), "does not start with '{'"},
        {"not an object: text", file_text("\"{}\"", 0), "does not start with '{'"},
        {"byte order mark", file_text("\xef\xbb\xbf{}", 0), "does not start with '{'"},
        {"leading space", file_text(" {}", 0), "does not start with '{'"},
        {"two objects", file_text("{}{}", 0), "not JSON"},
        {"text behind a zero byte", file_text(std::string("{}\0{}", 5), 0), "zero byte"},
        {"object not closed", file_text("{" + tensor("a", "2", "0,8"), 8), "not JSON"},
        {"comma at the end", file_text("{" + tensor("a", "2", "0,8") + ",}", 8), "not JSON"},
        {"comment", file_text("{/* */}", 0), "not JSON"},
        {"bad UTF-8 in a name", file_text("{" + tensor("\xc3(", "2", "0,8") + "}", 8), "not JSON"},
        {"overlong UTF-8", file_text("{" + tensor("\xc0\xaf", "2", "0,8") + "}", 8), "not JSON"},
        {"lone surrogate", file_text("{" + tensor("\\ud800", "2", "0,8") + "}", 8), "not JSON"},
        {"a name twice", file_text("{" + tensor("a", "2", "0,8") + "," + tensor("a", "2", "0,8") + "}", 8), "'a' occurs twice"},
        {"a name twice, once escaped", file_text("{" + tensor("a", "1", "0,4") + "," + tensor("\\u0061", "1", "4,8") + "}", 8),
         "'a' occurs twice"},
        {"metadata twice, once null", file_text(R"({"__metadata__":null,"__metadata__":{}})", 0), "occurs twice"},
        {"null for a metadata key", file_text(R"({"__metadata__":{"k":null}})", 0), "metadata key 'k' has null"},
        {"nothing but null", file_text("null", 0), "does not start with '{'"},
        {"metadata twice", file_text(R"({"__metadata__":{},"__metadata__":{}})", 0), "occurs twice"},
        {"metadata key twice", file_text(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "metadata key 'k' occurs twice"},
        {"metadata not text", file_text(R"({"__metadata__":{"k":1}})", 0), "metadata key 'k' has a number"},
        {"metadata nested", file_text(R"({"__metadata__":{"k":{}}})", 0), "metadata key 'k' has an object"},
        {"metadata is a text", file_text(R"({"__metadata__":"text"})", 0), "wanted an object"},
        {"tensor is null", entry("null"), "null for 'a'"},
        {"tensor is a number", entry("1"), "a number for 'a'"},
        {"tensor is an array", entry("[1]"), "an array for 'a'"},
        {"empty tensor entry", entry("{}"), "lacks one of"},
        {"no dtype", entry("{" + rest + "}"), "lacks one of"},
        {"no shape", entry(R"({"dtype":"F32","data_offsets":[0,8]})"), "lacks one of"},
        {"no offsets", entry(R"({"dtype":"F32","shape":[2]})"), "lacks one of"},
        {"unknown field", entry(R"({"dtype":"F32","stride":[1],)" + rest + "}"), "unknown field 'stride'"},
        {"dtype twice", entry(R"({"dtype":"F32","dtype":"F32",)" + rest + "}"), "field 'dtype' twice"},
        {"dtype is a number", entry(R"({"dtype":32,)" + rest + "}"), "a number as its 'dtype'"},
        {"unknown dtype", entry(R"({"dtype":"F31",)" + rest + "}"), "unknown dtype 'F31'"},
        {"lower-case dtype", entry(R"({"dtype":"f32",)" + rest + "}"), "unknown dtype 'f32'"},
        {"nested object in a tensor", entry(R"({"dtype":{"x":1},)" + rest + "}"), "an object as its 'dtype'"},
        {"objects 200,000 deep", file_text(repeated(R"({"dtype":)", 200'000), 0), "an object as its 'dtype'"},
        {"arrays 200,000 deep", file_text(R"({"a":{"shape":)" + std::string(200'000, '['), 0), "an array within its shape"},
        {"a huge token", file_text("{\"a\":" + std::string(300'000, 'x'), 0), "not JSON"},
    };
}

std::vector<Fault> faults_of_the_layout() {
    const auto one = [](const std::string& shape, const std::string& offsets, std::size_t data = 8) {
        return file_text("{" + tensor("a", shape, offsets) + "}", data);
    };
    const auto two = [](const std::string& first, const std::string& second, std::size_t data) {
        return file_text("{" + tensor("a", "2", first) + "," + tensor("b", "2", second) + "}", data);
    };
    return {
        {"data cut off", one("2", "0,8", 7), "it may be cut off"},
        {"no data at all", one("2", "0,8", 0), "it may be cut off"},
        {"data left over", one("2", "0,8", 9), "1 bytes at the end belong to no tensor"},
        {"data without tensors", file_text("{}", 5), "5 bytes at the end belong to no tensor"},
        {"end before begin", one("2", "8,0"), "before it begins"},
        {"begin beyond the file", one("0", "16,16"), "it may be cut off"},
        {"offset of 2^64 - 1", one("2", "18446744073709551608,18446744073709551615"), "it may be cut off"},
        {"offset of 2^64", one("2", "0,18446744073709551616"), "not a 64-bit integer"},
        {"negative offset", one("2", "-8,0"), "a negative number within its data_offsets"},
        {"offset with a fraction", one("2", "0,8.0"), "not a 64-bit integer"},
        {"offset with an exponent", one("2", "0,8e0"), "not a 64-bit integer"},
        {"one offset", one("2", "0"), "fewer than two"},
        {"no offset", one("2", ""), "fewer than two"},
        {"three offsets", one("2", "0,8,8"), "more than two"},
        {"offset is a text", one("2", "0,\"8\""), "a text within its data_offsets"},
        {"fewer bytes than the shape", one("3", "0,8"), "has 8 bytes, wanted 12"},
        {"more bytes than the shape", one("1", "0,8"), "has 8 bytes, wanted 4"},
        {"scalar of eight bytes", one("", "0,8"), "has 8 bytes, wanted 4"},
        {"negative extent", one("-2", "0,8"), "a negative number within its shape"},
        {"extent with a fraction", one("2.5", "0,8"), "not a 64-bit integer"},
        {"extent of 2^63", one("9223372036854775808", "0,8"), "an extent of 9223372036854775808"},
        {"extent of 10^400", one("1" + std::string(400, '0'), "0,8"), "not JSON"},
        {"extents whose product is 2^64", one("4294967296,4294967296", "0,0", 0), "absurd shape"},
        {"extents whose bytes wrap around to 8", one("4611686018427387906", "0,8"), "absurd shape"},
        {"nine axes", one("1,1,1,1,1,1,1,1,2", "0,8"), "more than 8 axes"},
        {"extents 100,000 long", one(repeated("1,", 100'000) + "2", "0,8"), "more than 8 axes"},
        {"the same bytes twice", two("0,8", "0,8", 8), "overlaps"},
        {"partly the same bytes", two("0,8", "4,12", 12), "overlaps"},
        {"one within another", file_text("{" + tensor("a", "4", "0,16") + "," + tensor("b", "1", "4,8") + "}", 16), "overlaps"},
        {"an empty one within another", file_text("{" + tensor("a", "2", "0,8") + "," + tensor("b", "0", "4,4") + "}", 8),
         "overlaps"},
        {"hole at the start", one("2", "4,12", 12), "a hole of 4 bytes before tensor 'a'"},
        {"hole between", two("0,8", "12,20", 20), "a hole of 4 bytes before tensor 'b'"},
    };
}

void expect_faults(const std::vector<Fault>& faults) {
    for (const Fault& fault : faults) {
        SCOPED_TRACE(fault.what);
        const std::string message = error_of_file(fault.text);
        EXPECT_NE(message.find(fault.message), std::string::npos) << "the message is: " << message;
        EXPECT_LT(message.size(), 1000u);
        EXPECT_EQ(message.find('\n'), std::string::npos);
    }
}

TEST(SafetensorsFaults, TheTableStandsOnAValidFile) {
    const TemporaryFolder folder;
    const std::string header =
        "{" + tensor("b", "2", "4,12") + "," + tensor("a", "", "0,4") + "," + tensor("c", "0,9", "4,4") + "}  \n ";
    write_file_atomically(folder / "file", file_text(header, 12));
    const SafetensorsFile file(folder / "file");
    EXPECT_EQ(file.names(), (std::vector<std::string>{"b", "a", "c"}));
    EXPECT_EQ(file.load("c").numel(), 0);
    // Like the reference implementation.
    write_file_atomically(folder / "null", file_text("{\"__metadata__\":null," + tensor("a", "2", "0,8") + "}", 8));
    EXPECT_TRUE(SafetensorsFile(folder / "null").metadata().empty());
    EXPECT_EQ(SafetensorsFile(folder / "null").names(), std::vector<std::string>{"a"});
}

TEST(SafetensorsFaults, AWrongHeaderLengthIsAnError) { expect_faults(faults_of_the_length()); }
TEST(SafetensorsFaults, AWrongHeaderIsAnError) { expect_faults(faults_of_the_json()); }
TEST(SafetensorsFaults, AWrongLayoutIsAnError) { expect_faults(faults_of_the_layout()); }

TEST(SafetensorsFaults, ErrorsNameTheFile) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "weights", "too short");
    expect_error([&] { SafetensorsFile file(folder / "weights"); },
                 "safetensors: '" + (folder / "weights").string() + "' is not");
}

TEST(SafetensorsFaults, ManyTensorsAreReadInLinearTime) {
    std::string header = "{";
    for (int i = 0; i < 50'000; ++i) header += (i ? "," : "") + tensor("t" + std::to_string(i), "0", "0,0");
    const TemporaryFolder folder;
    write_file_atomically(folder / "file", file_text(header + "}", 0));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(SafetensorsFile(folder / "file").names().size(), 50'000u);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));  // quadratic: minutes
}

/// Opens the file and loads everything in it. An Error is fine, too; anything else fails the test.
bool loads(const std::filesystem::path& path) {
    try {
        const SafetensorsFile file(path);
        for (const std::string& name : file.names()) file.load(name, DType::f32);
        return true;
    } catch (const Error&) {
        return false;
    }
}

TEST(SafetensorsFaults, RandomDamageIsAnErrorOrLoads) {
    const std::string good = read_file(std::filesystem::path(HEDDLE_SOURCE_DIR) / "tests/golden/safetensors.safetensors");
    const TemporaryFolder folder;
    Sequence random(20);
    int loaded = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        std::string text = good;
        const std::uint64_t kind = random.below(3);
        if (kind == 0) text.resize(random.below(text.size()));
        // The first 900 bytes are the header; damage to the values after it is not an error.
        for (std::uint64_t flips = kind == 0 ? 0 : 1 + random.below(4); flips > 0; --flips) {
            char& byte = text[random.below(kind == 1 ? std::min<std::size_t>(900, text.size()) : text.size())];
            byte = static_cast<char>(byte ^ (1 << random.below(8)));
        }
        // Not written atomically, because fsync would take most of the time.
        FILE* file = std::fopen((folder / "file").c_str(), "wb");
        ASSERT_NE(file, nullptr);
        std::fwrite(text.data(), 1, text.size(), file);
        std::fclose(file);
        if (loads(folder / "file")) ++loaded;
    }
    // The golden file has two tensors that cannot be loaded, so no damaged copy may load completely, unless the damage made those
    // loadable.
    EXPECT_LT(loaded, 40);
}

}  // namespace
}  // namespace heddle
