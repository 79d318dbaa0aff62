#include "apps/chapters/chapter.h"

#include "apps/command/commands.h"
#include "apps/lab/page_command.h"

namespace heddle::app {

int chapter_command(Arguments arguments) {
    PageCommand command{.name = "chapter",
                        .summary = "checks the claims of a chapter of docs/presets by measurement",
                        .what = "chapter",
                        .index_title = "Five write-ups of the Transformer, measured",
                        .programs = {},
                        .group = OptionGroup::chapters};
    for (const chapters::Chapter& one : chapters::chapters())
        command.programs.push_back(
            {std::string(one.name), std::string(one.title), [&one](std::uint64_t seed, const std::string& again) {
                 const chapters::Options options{.seed = seed};
                 const chapters::Report report = one.run(options);
                 return PageResult{chapters::text(one, report), chapters::json(one, report, options),
                                   chapters::page(one, report, again), chapters::headline(report),
                                   chapters::first_picture(report)};
             }});
    return run_page_command(command, arguments);
}

}  // namespace heddle::app
