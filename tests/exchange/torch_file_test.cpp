// PyTorch's files of weights: read without executing anything, and refused by name when they are anything else.
#include "apps/exchange/torch_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/file.h"
#include "tests/exchange/torch_support.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

std::string complaint_of_pickle(const std::string& pickle) {
    return error_of([&] { read_torch_pickle(std::as_bytes(std::span(pickle))); });
}

std::string of_tensor(const std::string& tensor) { return "\x80\x02}(" + pickled_text("w") + tensor + "u."; }

TEST(TorchFile, HoldsTensorsOfThreeTypes) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "pytorch_model.bin";
    const Tensor whole = Tensor::randn({3, 4}, 1), scalar = Tensor::full({}, 2.5);
    for (const ExportDType dtype : {ExportDType::f32, ExportDType::f16}) {
        write_torch_file(path, {{"whole", whole}, {"scalar", scalar}}, dtype);
        const TorchFile file(path);
        ASSERT_EQ(file.tensors().size(), 2u);
        const Tensor read = file.load(file.tensors()[1]);
        EXPECT_EQ(file.tensors()[1].name, "whole");
        EXPECT_LE(relative_error(read, whole), dtype == ExportDType::f32 ? 0 : 5e-4);
        EXPECT_EQ(file.load(file.tensors()[0]).item(), 2.5);
    }
    // bf16: the upper half of an f32. A part of a storage, too.
    const std::string bits("\x80\x3f\x00\x40\x40\xc0", 6);  // 1, 2, -3
    write_torch_file(path, of_tensor(pickled_tensor("0", {2}, "BFloat16Storage", 3, 1)), {{"0", bits}});
    const TorchFile file(path);
    EXPECT_EQ(file.load(file.tensors()[0]).to_vector(), (std::vector<double>{2, -3}));
}

TEST(TorchFile, ReadsAStateDictWithItsVersions) {
    // OrderedDict with the attribute _metadata, as model.state_dict() has it.
    const std::string pickle = std::string("\x80\x02") + "ccollections\nOrderedDict\n" + std::string("q\0)R(", 5) +
                               pickled_text("w") + pickled_tensor("0", {2}) + "u}" + pickled_text("_metadata") +
                               std::string("h\0)R", 4) + pickled_text("") + "}" + pickled_text("version") + "K\x01sssb.";
    const std::vector<TorchTensor> tensors = read_torch_pickle(std::as_bytes(std::span(pickle)));
    ASSERT_EQ(tensors.size(), 1u);
    EXPECT_EQ(tensors[0].shape, Shape({2}));
}

TEST(TorchFile, KnowsTheInstructionsOfWeightsOnly) {
    const std::set<int> known = {'}', '(',  'X',  'c', 'J', 'K', 'M', ')', 't', 0x85, 0x86, 0x87,
                                 'Q', 0x88, 0x89, 'R', 'q', 'r', 'h', 'j', 's', 'u',  'b',  '.'};
    for (int code = 0; code < 256; ++code) {
        if (known.contains(code)) continue;
        const std::string pickle = of_tensor(std::string(1, static_cast<char>(code)) + pickled_tensor("0", {2}));
        EXPECT_THAT(complaint_of_pickle(pickle), HasSubstr(fmt::format("instruction 0x{:02x}", code)));
    }
}

TEST(TorchFile, CallsNothing) {
    for (const char* global :
         {"os\nsystem", "posix\nsystem", "builtins\neval", "builtins\nexec", "torch\nload", "subprocess\nPopen",
          "torch._utils\n_rebuild_parameter", "torch\nLongStorage", "collections\nOrderedDict ", "collections \nOrderedDict",
          "__builtin__\ngetattr", "\n", "torch.storage\n_load_from_bytes"}) {
        const std::string pickle = std::string("\x80\x02") + "c" + global + "\n(" + pickled_text("touch /tmp/harm") + "tR.";
        EXPECT_THAT(complaint_of_pickle(pickle), HasSubstr("nothing was executed")) << global;
    }
    // Functions that are known by name are called in their one way only.
    EXPECT_THAT(complaint_of_pickle("\x80\x02"
                                    "ccollections\nOrderedDict\nK\x01\x85R."),
                HasSubstr("OrderedDict of something"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02"
                                    "ctorch\nFloatStorage\n)R."),
                HasSubstr("calls torch FloatStorage"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02"
                                    "ctorch._utils\n_rebuild_tensor_v2\n)R."),
                HasSubstr("of another form"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02}}b."), HasSubstr("no OrderedDict"));
    EXPECT_THAT(complaint_of_pickle(std::string("\x80\x02") + pickled_text("x") + ")R."), HasSubstr("another value"));
}

TEST(TorchFile, RefusesDamagedPickles) {
    const std::string whole = of_tensor(pickled_tensor("0", {2, 3}));
    for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(complaint_of_pickle(whole.substr(0, size)), "") << size;
    EXPECT_THAT(complaint_of_pickle(whole + "."), HasSubstr("goes on"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02."), HasSubstr("leaves 0 values"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02}."), HasSubstr("no tensors"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02K\x01."), HasSubstr("no dictionary"));
    EXPECT_THAT(complaint_of_pickle("\x80\x04}."), HasSubstr("protocol 2"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02}(K\x01K\x01u."), HasSubstr("no name"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02}" + pickled_text("w") + "K\x01s."), HasSubstr("no tensor"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02h\x07."), HasSubstr("recalls"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02}q\x07."), HasSubstr("remembers"));
    const std::string tensor = pickled_tensor("0", {2});
    EXPECT_THAT(complaint_of_pickle("\x80\x02}(" + pickled_text("w") + tensor + pickled_text("w") + tensor + "u."),
                HasSubstr("two tensors"));
    EXPECT_THAT(complaint_of_pickle("\x80\x02" + std::string(1 << 20, '}') + "."), HasSubstr("at most 1048576"));
    // A transposed tensor has other strides.
    std::string transposed = pickled_tensor("0", {2, 3});
    const std::string strides = pickled_number(3) + pickled_number(1) + "t";
    transposed.replace(transposed.find(strides), strides.size(), pickled_number(1) + pickled_number(2) + "t");
    EXPECT_THAT(complaint_of_pickle(of_tensor(transposed)), HasSubstr("contiguous()"));
}

TEST(TorchFile, RefusesStoragesThatDoNotFit) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "pytorch_model.bin";
    const auto complaint = [&](const std::string& tensor, const std::map<std::string, std::string>& storages) {
        write_torch_file(path, of_tensor(tensor), storages);
        return error_of([&] { TorchFile file(path); });
    };
    const std::string eight(8, '\0');
    EXPECT_THAT(complaint(pickled_tensor("1", {2}), {{"0", eight}}), HasSubstr("which the archive lacks"));
    EXPECT_THAT(complaint(pickled_tensor("../0", {2}), {{"0", eight}}), HasSubstr("which the archive lacks"));
    EXPECT_THAT(complaint(pickled_tensor("0", {3}), {{"0", eight}}), HasSubstr("has 8 bytes"));
    EXPECT_THAT(complaint(pickled_tensor("0", {2}, "HalfStorage"), {{"0", eight}}), HasSubstr("has 8 bytes"));
    EXPECT_THAT(complaint(pickled_tensor("0", {2}, "FloatStorage", 2, 1), {{"0", eight}}), HasSubstr("reaches out"));
    std::string negative = pickled_tensor("0", {2});
    const std::string size = "(" + pickled_number(2) + "t(";
    negative.replace(negative.find(size), size.size(), "(" + pickled_number(-2) + "t(");
    EXPECT_THAT(complaint(negative, {{"0", eight}}), HasSubstr("without a size"));
    EXPECT_THAT(complaint(pickled_tensor("0", {1 << 30, 1 << 30, 1 << 30}, "FloatStorage", 2), {{"0", eight}}),
                HasSubstr("1073741824, 1073741824"));
    write_file_atomically(path, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
    EXPECT_THAT(error_of([&] { TorchFile file(path); }), HasSubstr("torch.save(torch.load("));
}

}  // namespace
}  // namespace heddle::app
