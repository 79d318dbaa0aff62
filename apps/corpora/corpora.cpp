#include "apps/corpora/corpora.h"

namespace heddle::app {
namespace {

// Digests of the repository's files; the address below names a commit, so they do not change.
constexpr CorpusFile multi30k_files[] = {
    {"train.de", "train.de.gz", "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72"},
    {"train.en", "train.en.gz", "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"},
    {"val.de", "val.de.gz", "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660"},
    {"val.en", "val.en.gz", "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227"},
    {"test.de", "test_2016_flickr.de.gz", "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"},
    {"test.en", "test_2016_flickr.en.gz", "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"},
};

constexpr CorpusSet sets[] = {
    {.name = "multi30k",
     .holds = "captions of pictures, 11 words long: 29,000 pairs to train, 1,014 val, 1,000 test (2016); fetches 1.3 MB",
     .licence = "the text names none; its README speaks of non-commercial research and education",
     .source = "https://github.com/multi30k/dataset (task 1, raw)",
     .base = "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/",
     .files = multi30k_files},
    {.name = "tatoeba-de-en",
     .holds = "short everyday sentences: 168,000 pairs in 2018, and more since, divided here into train, val and test; fetches "
              "some MB",
     .licence = "CC BY 2.0 FR, by the contributors of tatoeba.org",
     .source = "https://www.manythings.org/anki/",
     .base = "https://www.manythings.org/anki/",
     .archive = "deu-eng.zip",
     .member = "deu.txt"},
    {.name = "iwslt2016-de-en",
     .holds = "TED talks: some 200,000 pairs",
     .licence = "CC BY-NC-ND 3.0, by TED Conferences LLC",
     .source = "https://wit3.fbk.eu/2016-01",
     .steps = "download 2016-01.tgz from that page, unpack it and the 2016-01/texts/de/en/de-en.tgz in it, and give heddle train "
              "--train de-en/train.tags.de-en: it reads those files as they are"},
};

}  // namespace

std::span<const CorpusSet> corpus_sets() { return sets; }

}  // namespace heddle::app
