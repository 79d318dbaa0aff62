// Saving and loading parameters.
#include <gtest/gtest.h>

#include "core/safetensors.h"
#include "nn/flat.h"
#include "nn/serialize.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

TEST(Serialize, LoadsWhatWasSavedBitByBit) {
    const TemporaryFolder folder;
    for (const DType dtype : {DType::f32, DType::f64}) {
        Transformer saved(tiny_options(), 1, dtype);
        disturb(saved);
        save(saved, folder / "m.safetensors", {{"made by", "a test"}});
        Transformer loaded(tiny_options(), 2, dtype);
        load(loaded, folder / "m.safetensors");
        for (const auto& [name, tensor] : saved.named_tensors())
            EXPECT_EQ(tensor.to_vector(), named_tensor(loaded, name).to_vector()) << name;
        EXPECT_EQ(SafetensorsFile(folder / "m.safetensors").metadata().at("made by"), "a test");
    }
}

TEST(Serialize, FileHasTheSlicesUnderTheirOwnNames) {
    const TemporaryFolder folder;
    const Transformer model(tiny_options());
    save(model, folder / "m.safetensors");
    const SafetensorsFile file(folder / "m.safetensors");
    EXPECT_EQ(file.shape("encoder.layers.0.self_attention.query.weight"), Shape({8, 8}));
    EXPECT_EQ(file.shape("decoder.layers.1.cross_attention.key.bias"), Shape({8}));
    EXPECT_FALSE(file.contains("encoder.layers.0.self_attention.query_key_value.weight"));
}

TEST(Serialize, LoadsIntoFlatMemoryAndConvertsTheType) {
    const TemporaryFolder folder;
    const Transformer saved(tiny_options(), 1, DType::f32);
    save(saved, folder / "m.safetensors");
    Transformer loaded(tiny_options(), 2, DType::f64);
    const FlatParameters flat = flatten(loaded);
    load(loaded, folder / "m.safetensors");
    for (const auto& [name, tensor] : flat.named(flat.values))
        EXPECT_EQ(tensor.to_vector(), named_tensor(saved, name).to_vector()) << name;
}

TEST(Serialize, NamesEveryMissingExtraAndMisshapenTensorAndChangesNothing) {
    const TemporaryFolder folder;
    Transformer model(tiny_options());
    NamedTensors tensors;
    for (const auto& [name, tensor] : model.named_tensors()) {
        if (name == "encoder.layers.0.self_attention.key.bias" || name == "output.weight") continue;
        tensors.emplace_back(name, name == "decoder.final_norm.weight" ? Tensor::zeros({9}, DType::f32)
                                   : name == "decoder.final_norm.bias" ? Tensor::zeros({8}, DType::i32)
                                                                       : Tensor::zeros(tensor.shape(), DType::f32));
    }
    tensors.emplace_back("encoder.layers.2.oops", Tensor::zeros({1, 2}, DType::f32));
    save_safetensors(folder / "m.safetensors", tensors);
    const std::vector<double> before = named_tensor(model, "source_embedding.weight").to_vector();
    const std::string message = error_of([&] { load(model, folder / "m.safetensors"); });
    for (const char* part :
         {"m.safetensors", "missing: encoder.layers.0.self_attention.key.bias [8]", "missing: output.weight [13, 8]",
          "misshapen: decoder.final_norm.weight is [9] in the file, wanted [8]", "wrong type: decoder.final_norm.bias is I32",
          "extra: encoder.layers.2.oops [1, 2]"})
        EXPECT_NE(message.find(part), std::string::npos) << part << "\nin: " << message;
    EXPECT_EQ(message.find("source_embedding"), std::string::npos) << message;
    EXPECT_EQ(named_tensor(model, "source_embedding.weight").to_vector(), before);
}

TEST(Serialize, PrefixKeepsSeveralSetsInOneFile) {
    const TemporaryFolder folder;
    Transformer model(tiny_options());
    const FlatParameters flat = flatten(model);
    NamedTensors tensors;
    for (const char* prefix : {"first.", "second."})
        for (const auto& [name, tensor] : flat.named(flat.values))
            tensors.emplace_back(prefix + name, Tensor::full(tensor.shape(), prefix[0] == 'f' ? 1 : 2, DType::f32));
    save_safetensors(folder / "m.safetensors", tensors);
    load(flat.named(flat.values), SafetensorsFile(folder / "m.safetensors"), "second.");
    EXPECT_EQ(named_tensor(model, "output.bias").to_vector(), std::vector<double>(13, 2));
}

}  // namespace
}  // namespace heddle::nn
