#include "apps/bench/bench.h"

#include <string>

#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "core/error.h"

namespace heddle::app {

int bench_command(Arguments arguments) {
    const std::string what = arguments.empty() ? "" : arguments[0];
    if (what == "train") return bench_train(arguments.subspan(1));
    if (what == "ops") return bench_ops(arguments.subspan(1));
    if (what == "ladder") return bench_ladder(arguments.subspan(1));
    if (what.empty() || what == "--help" || what == "-h") {
        print(
            "heddle bench - measures\n\n"
            "  heddle bench train    training speed and memory on a corpus\n"
            "  heddle bench ops      every op alone\n"
            "  heddle bench ladder   the steps of a teaching ladder of CUDA kernels\n\n"
            "heddle bench train --help, heddle bench ops --help and heddle bench ladder --help show the options.\n");
        return 0;
    }
    throw UsageError(
        "bench: there is no '" + what + "'" +
        did_you_mean(what, {"train", "ops", "ladder"}, "wanted heddle bench train, heddle bench ops or heddle bench ladder"));
}

}  // namespace heddle::app
