// Saves and loads parameters as safetensors files.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "nn/module.h"

namespace heddle {
class SafetensorsFile;
}

namespace heddle::nn {

/// Writes the module's parameters under their dotted names, atomically.
void save(const Module& module, const std::filesystem::path& path, const std::map<std::string, std::string>& metadata = {});

/// Fills `targets` (views of parameters or moments) from a file with the same names and shapes; other float dtypes are
/// converted. `prefix` precedes each name in the file; other tensors are ignored. One Error names every missing, extra and
/// misshapen tensor; nothing is changed then.
void load(const NamedTensors& targets, const SafetensorsFile& file, std::string_view prefix = "");
/// Fills a module's parameters.
void load(Module& module, const std::filesystem::path& path);

}  // namespace heddle::nn
