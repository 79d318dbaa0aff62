// The sub-commands. Each reads its arguments (without its own name), prints results on stdout and everything else on stderr, and
// returns the exit status. main reports UsageError and Error.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "core/version.h"

namespace heddle::app {

using Arguments = std::span<const char* const>;

int train_command(Arguments arguments);
int translate_command(Arguments arguments);
int generate_command(Arguments arguments);
int serve_command(Arguments arguments);
int prepare_command(Arguments arguments);
int score_command(Arguments arguments);
int evaluate_command(Arguments arguments);
int average_command(Arguments arguments);
int import_command(Arguments arguments);
int export_command(Arguments arguments);
int data_command(Arguments arguments);  ///< data list, data NAME
int summary_command(Arguments arguments);
int gradcheck_command(Arguments arguments);
int lab_command(Arguments arguments);           ///< lab [list], lab NAME, lab all; in heddle-lab
int learn_command(Arguments arguments);         ///< learn [list], learn start NAME, learn check, ...; in heddle-lab
int explain_command(Arguments arguments);       ///< explain list, explain NAME; in heddle-explain
int explain_file_command(Arguments arguments);  ///< explain FILE.cu; in heddle-lab
int check_command(Arguments arguments);         ///< check FILE.cu; in heddle-lab
int bench_command(Arguments arguments);         ///< bench train, bench ops
/// `commit` of the build; may be empty.
int version_command(std::string_view commit);

/// The git commit that was built: "a160b23c4d5e", with "-dirty" if files differed from it; "" outside a checkout and in tests.
/// Written by cmake/commit.cmake at each build and linked into the program only, so that a commit recompiles nothing else.
extern const char* const build_commit;

/// Calls `run` and returns its exit status. An exception becomes one line on stderr and a status: 2 for UsageError, 3 for
/// Divergence, 1 for everything else; 141, without a line, when the reader of stdout has closed the pipe. Failing to write
/// results to stdout is an error, too.
int guarded(const std::function<int()>& run);

}  // namespace heddle::app
