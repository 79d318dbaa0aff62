// The functions of the chapters, one file each, in the order of the list in chapter.cpp.
#pragma once

#include "apps/chapters/chapter.h"

namespace heddle::chapters {

Report annotated(const Options& options);
Report explained(const Options& options);
Report notebook(const Options& options);
Report paper(const Options& options);
Report translator(const Options& options);

/// The part of `explained` about normalisation.
void add_norm_statements(const Options& options, Report& report);
/// The part of `translator` about learning and decoding.
void add_training_statements(const Options& options, Report& report);

}  // namespace heddle::chapters
