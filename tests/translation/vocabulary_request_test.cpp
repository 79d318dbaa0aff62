#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/translation/training/data.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(VocabularyRequest, RefusesGivenOptionsThatItsModelFileContradicts) {
    const std::vector<std::string> lines{"ab ab ab", "ab 5 m\u00b2", "ab  ab", "1\u00b2 ab"};
    const std::string file = testing::TempDir() + "vocabulary_request.model";
    train_vocabulary({.size = 15, .normalization = Normalization::nfkc}, lines)->save(file);
    const auto load = [&](VocabularyRequest request) {
        request.model_file = file;
        make_vocabularies(request, Corpus(), [](std::string_view) {});
        return request;
    };
    VocabularyRequest normalised;
    normalised.normalization = Normalization::nfc;
    EXPECT_EQ(load(normalised).normalization, Normalization::nfkc);
    normalised.normalization_given = true;
    EXPECT_THAT([&] { load(normalised); },
                ThrowsMessage<UsageError>(HasSubstr("its own rules (nfkc); leave out --vocab-normalization nfc")));
    normalised.normalization = Normalization::nfkc;
    EXPECT_EQ(load(normalised).normalization, Normalization::nfkc);
    VocabularyRequest typed;
    typed.type = VocabularyType::unigram;
    typed.type_given = true;
    EXPECT_THAT([&] { load(typed); },
                ThrowsMessage<UsageError>(HasSubstr("it is a bpe vocabulary; leave out --vocab-type unigram")));
}

}  // namespace
}  // namespace heddle::app
