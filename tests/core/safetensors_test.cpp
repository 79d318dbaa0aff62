// core/safetensors.h: weights written and read by this and other programs. Damaged files are in safetensors_hostile_test.cpp.
#include "core/safetensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::filesystem::path golden() { return std::filesystem::path(HEDDLE_SOURCE_DIR) / "tests/golden/safetensors.safetensors"; }

TEST(Safetensors, ReadsEveryDTypeThatTheReferenceLibraryWrites) {
    const SafetensorsFile file(golden());
    const auto expect = [&](const char* name, DType dtype, const Shape& shape, const std::vector<double>& values) {
        const Tensor tensor = file.load(name);
        EXPECT_EQ(tensor.dtype(), dtype) << name;
        EXPECT_EQ(tensor.shape().str(), shape.str()) << name;
        EXPECT_EQ(file.shape(name), shape) << name;
        EXPECT_EQ(tensor.to_vector(), values) << name;
    };
    expect("double", DType::f64, {2, 3}, {1, -2.5, 1e300, 0.1, 5e-324, kInfinity});
    expect("float", DType::f32, {2, 2, 1}, {1.5, -0.25, 3.4e38F, 1e-45F});
    expect("brain", DType::bf16, {3}, {1, -3.140625, static_cast<double>(static_cast<float>(bf16(1e30F)))});
    expect("long", DType::i32, {3}, {2147483647, -2147483648.0, 7});
    expect("int", DType::i32, {2, 1}, {2147483647, -2147483648.0});
    expect("byte", DType::u8, {3}, {0, 127, 255});
    expect("truth", DType::u8, {3}, {1, 0, 1});
    expect("scalar", DType::f32, {}, {42});
    expect("empty", DType::f32, {3, 0, 2}, {});
    expect("größe.☃", DType::u8, {1}, {1});
    EXPECT_EQ(file.names().size(), 13u);
}

TEST(Safetensors, ReadsHalfPrecisionExactlySubnormalsAndInfinitiesIncluded) {
    const Tensor half = SafetensorsFile(golden()).load("half");
    ASSERT_EQ(half.dtype(), DType::f32);
    std::vector<double> values = half.to_vector();
    EXPECT_TRUE(std::isnan(values.back()));
    values.pop_back();
    EXPECT_EQ(values, (std::vector<double>{0, -0.0, 1, -2.5, 65504, 0x1p-14, 0x1p-24, kInfinity, -kInfinity}));
    EXPECT_TRUE(std::signbit(values[1])) << "-0 lost its sign";
}

TEST(Safetensors, ReadsMetadataAndTheFilesOwnDTypes) {
    const SafetensorsFile file(golden());
    EXPECT_EQ(file.metadata().at("format"), "pt");
    EXPECT_EQ(file.metadata().at("note"), "ein \"Text\" mit Umlauten: äöü\n");
    EXPECT_EQ(file.dtype("half"), "F16");
    EXPECT_EQ(file.dtype("truth"), "BOOL");
    EXPECT_TRUE(file.contains("brain"));
    EXPECT_FALSE(file.contains("__metadata__"));
}

TEST(Safetensors, ConvertsOnRequest) {
    const SafetensorsFile file(golden());
    EXPECT_EQ(file.load("half", DType::f64).dtype(), DType::f64);
    EXPECT_EQ(file.load("long", DType::f64).to_vector()[0], 2147483647);
    EXPECT_EQ(file.load("double", DType::f32).to_vector()[3], static_cast<double>(0.1F));
    EXPECT_EQ(file.load("float", DType::bf16).to_vector()[1], -0.25);
    EXPECT_EQ(file.load("byte", DType::i32).to_vector()[2], 255);
}

TEST(Safetensors, FillsTensorsThatAreThere) {
    const SafetensorsFile file(golden());
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {  // the second is the file's own
        Tensor into = Tensor::zeros({2, 2, 1}, dtype);
        const std::uint64_t version = into.version();
        file.load_into("float", into);
        EXPECT_EQ(into.to_vector(), file.load("float", dtype).to_vector()) << name(dtype);
        EXPECT_GT(into.version(), version) << name(dtype);
        for (const Shape& other : {Shape{4}, Shape{2, 2, 2}}) {
            Tensor misshapen = Tensor::zeros(other, dtype);
            expect_error([&] { file.load_into("float", misshapen); }, "copy: the source is [2, 2, 1]");
            EXPECT_EQ(misshapen.to_vector(), std::vector<double>(static_cast<std::size_t>(other.numel()))) << name(dtype);
        }
    }
    EXPECT_EQ(file.bytes("byte").size(), 3u);
    EXPECT_EQ(file.bytes("byte")[1], std::byte{127});
}

TEST(Safetensors, SaysWhatCannotBeLoaded) {
    const SafetensorsFile file(golden());
    expect_error([&] { file.load("too long"); },
                 "'too long' of '" + golden().string() + "': the I64 number 2147483648 does not fit");
    expect_error([&] { file.load("short"); }, "I16 tensors cannot be loaded");
    expect_error([&] { file.load("nothing"); }, "has no tensor 'nothing'; it has 13 others");
    expect_error([&] { file.shape("nothing"); }, "has no tensor 'nothing'");
    expect_error([&] { file.dtype("nothing"); }, "has no tensor 'nothing'");
    expect_error([] { SafetensorsFile missing("/nowhere/model.safetensors"); }, "No such file or directory");
}

std::vector<std::pair<std::string, Tensor>> samples() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    return {{"z.first", Tensor::from<std::uint8_t>({1, 2, 255}, {3})},
            {"b", Tensor::from<float>({1.5F, -0.0F, nan, 1e-45F}, {2, 2})},
            {"a \"quoted\" \\ ü", Tensor::from<double>({0.1, -kInfinity}, {2, 1, 1})},
            {"half", Tensor::from<bf16>({bf16(1.0F), bf16(-2.5F), bf16(3.0F)}, {3})},
            {"numbers", Tensor::from<std::int32_t>({-2147483647 - 1, 5}, {1, 2})},
            {"scalar", Tensor::from<double>({7}, {})},
            {"empty", Tensor::zeros({4, 0, 5}, DType::f32)}};
}

TEST(Safetensors, KeepsEveryDTypeShapeAndBitOnTheWayOutAndIn) {
    const TemporaryFolder folder;
    const auto tensors = samples();
    save_safetensors(folder / "file", tensors, {{"key", "value with \"quotes\"\n"}, {"", ""}});
    const SafetensorsFile file(folder / "file");
    ASSERT_EQ(file.names().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        EXPECT_EQ(file.names()[i], tensors[i].first) << "the header's order changed";
        EXPECT_TRUE(same_bits(file.load(tensors[i].first), tensors[i].second)) << tensors[i].first;
    }
    EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"key", "value with \"quotes\"\n"}, {"", ""}}));
}

TEST(Safetensors, SavesViewsAsTheyLook) {
    const TemporaryFolder folder;
    const Tensor all = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {3, 2});
    save_safetensors(folder / "file", {{"rows", all.slice(1, 3)}});
    EXPECT_EQ(SafetensorsFile(folder / "file").load("rows").to_vector(), (std::vector<double>{2, 3, 4, 5}));
}

TEST(Safetensors, KeepsNoTensorsAndNoMetadata) {
    const TemporaryFolder folder;
    save_safetensors(folder / "file", {});
    const SafetensorsFile file(folder / "file");
    EXPECT_TRUE(file.names().empty());
    EXPECT_TRUE(file.metadata().empty());
    EXPECT_EQ(read_file(folder / "file"), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(Safetensors, WritesTheSameBytesForTheSameTensors) {
    const TemporaryFolder folder;
    save_safetensors(folder / "one", samples(), {{"b", "2"}, {"a", "1"}});
    save_safetensors(folder / "two", samples(), {{"a", "1"}, {"b", "2"}});
    EXPECT_EQ(read_file(folder / "one"), read_file(folder / "two"));
}

TEST(Safetensors, WritesTheDocumentedBytes) {
    const TemporaryFolder folder;
    save_safetensors(folder / "file", {{"x", Tensor::from<std::uint8_t>({65, 66}, {2})}, {"y", Tensor::zeros({1}, DType::f32)}});
    const std::string header =
        R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
    EXPECT_EQ(read_file(folder / "file"),
              std::string(1, static_cast<char>(padded.size())) + std::string(7, '\0') + padded + std::string(4, '\0') + "AB");
}

TEST(Safetensors, RefusesToWriteWhatCouldNotBeRead) {
    const TemporaryFolder folder;
    const Tensor one = Tensor::zeros({1}, DType::f32);
    const auto save = [&](const std::vector<std::pair<std::string, Tensor>>& tensors, const char* text = "") {
        save_safetensors(folder / "file", tensors, {{"key", text}});
    };
    expect_error([&] { save({{"twice", one}, {"twice", one}}); }, "the name 'twice'");
    expect_error([&] { save({{"__metadata__", one}}); }, "the name '__metadata__'");
    expect_error([&] { save({{"undefined", Tensor()}}); }, "tensor 'undefined' for");
    expect_error([&] { save({{"bad \xff text", one}}); }, "not UTF-8");
    expect_error([&] { save({{"good", one}}, "bad \xff text"); }, "not UTF-8");
    EXPECT_FALSE(std::filesystem::exists(folder / "file"));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "a failed save left something behind";
}

}  // namespace
}  // namespace heddle
