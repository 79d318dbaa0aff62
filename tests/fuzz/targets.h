// The fuzz targets: functions that take any bytes. Whatever they are, the code under test accepts them or throws an Error; a
// crash, any other exception, a hang, a report of a sanitizer or a broken promise is a finding. entry.cpp makes a libFuzzer
// program of each, fuzz_seeds_test.cpp runs all of them on the kept inputs in every build.
#pragma once

#include <ostream>
#include <string_view>

namespace heddle::fuzz {

void character_map(std::string_view bytes);  ///< the map of characters in a vocab.model
void events(std::string_view bytes);         ///< TensorBoard's event files
void gzip(std::string_view bytes);           ///< gzipped text
void log(std::string_view bytes);            ///< log.jsonl
void markup(std::string_view bytes);         ///< XML, SGML and talks with tags
void options(std::string_view bytes);        ///< words of a command line, a line each
void prepared(std::string_view bytes);       ///< prepared texts
void safetensors(std::string_view bytes);    ///< weights
void sentencepiece(std::string_view bytes);  ///< vocab.model
void state(std::string_view bytes);          ///< state.json
void text(std::string_view bytes);           ///< parallel text, and what is computed from it
void token_map(std::string_view bytes);      ///< vocab.map.json
void toml(std::string_view bytes);           ///< config.toml
void vocabulary(std::string_view bytes);     ///< vocab.tsv

struct Target {
    const char* name;
    void (*run)(std::string_view bytes);

    // GoogleTest would print the bytes of both pointers, and with them change the names of its tests from run to run.
    friend void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }
};
inline constexpr Target targets[] = {{"character_map", character_map},
                                     {"events", events},
                                     {"gzip", gzip},
                                     {"log", log},
                                     {"markup", markup},
                                     {"options", options},
                                     {"prepared", prepared},
                                     {"safetensors", safetensors},
                                     {"sentencepiece", sentencepiece},
                                     {"state", state},
                                     {"text", text},
                                     {"token_map", token_map},
                                     {"toml", toml},
                                     {"vocabulary", vocabulary}};

}  // namespace heddle::fuzz
