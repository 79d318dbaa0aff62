# Writes the source file OUTPUT with the git commit of the checkout SOURCE, "-dirty" behind it when files differ from it; with
# nothing outside a checkout. An unchanged file keeps its time, so nothing is built again.
set(commit "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "apps/command/commands.h"

const char* const heddle::app::build_commit = "@commit@";
]] @ONLY)
