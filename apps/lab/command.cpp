#include "apps/lab/lab.h"

#include "apps/command/commands.h"
#include "apps/lab/page_command.h"

namespace heddle::app {

int lab_command(Arguments arguments) {
    PageCommand command{.name = "lab",
                        .summary = "runs a known mistake beside its correction, and shows what it breaks",
                        .what = "experiment",
                        .index_title = "What known mistakes break",
                        .programs = {}};
    for (const lab::Experiment& one : lab::experiments())
        command.programs.push_back({std::string(one.name), std::string(one.title),
                                    [&one](std::uint64_t seed, const std::string& again) {
                                        const lab::Options options{.seed = seed};
                                        const lab::Result result = one.run(options);
                                        return PageResult{lab::text(one, result), lab::json(one, result, options),
                                                          lab::page(one, result, again), lab::headline(result),
                                                          result.figures.empty() ? "" : result.figures.front().svg};
                                    },
                                    std::string(one.group)});
    return run_page_command(command, arguments);
}

}  // namespace heddle::app
