#include "apps/bench/op_cases.h"

#include <algorithm>
#include <iterator>

#include "autograd/cases/op_cases.h"

namespace heddle::app {
namespace {

using cases::Bench;
using cases::BenchSetting;

BenchSetting setting_of(const OpSetting& given) {
    BenchSetting on{.device = given.device, .dtype = given.dtype, .sizes = given.sizes};
    if (on.large()) {  // tensors of 512 MB: [rows, d_model], [some_rows, vocabulary], the optimizer's arrays
        const std::int64_t elements = (std::int64_t{512} << 20) / size_of(given.dtype);
        on.d_model = 1024;
        on.heads = 16;
        on.d_ff = 4096;
        on.vocabulary = 32768;
        on.parameters = elements;
        on.sentences = elements / 1024 / 64;
        on.length = 64;
        on.some_rows = elements / 32768;
    } else if (given.sizes == "tiny") {
        on.d_model = 32;
        on.heads = 2;
        on.d_ff = 64;
        on.vocabulary = 50;
        on.parameters = 1000;
        on.sentences = 4;
        on.length = 5;
        on.some_rows = 8;
    } else {
        on.d_model = 128;
        on.heads = 4;
        on.d_ff = 512;
        on.vocabulary = 6000;
        on.parameters = 2'157'056;
        on.sentences = 200;
        on.length = 14;
        on.some_rows = 256;
    }
    return on;
}

}  // namespace

std::vector<BenchCase> op_cases(const OpSetting& setting) {
    const BenchSetting on = setting_of(setting);
    std::vector<const Bench*> benches;
    for (const OpCases& op : heddle::op_cases())
        for (const Bench& each : op.benches)
            if (each.sizes.find(on.sizes) != std::string_view::npos) benches.push_back(&each);
    std::stable_sort(benches.begin(), benches.end(), [](const Bench* a, const Bench* b) { return a->place < b->place; });
    std::vector<BenchCase> all;
    for (const Bench* each : benches) {
        std::vector<BenchCase> own = each->cases(on);
        all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    }
    return all;
}

}  // namespace heddle::app
