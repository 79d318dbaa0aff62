# heddle_op_cases: what is stated about each op for tests, proofs and tools (autograd/cases/op_cases.h). Every autograd/ops/OP_cases.cpp defines
# heddle::OP_cases::table(), and one generated source lists them: nothing registers itself, since a static library drops what nobody names.
# A library of its own, so that programs that link only the rooms carry none of it.
file(GLOB tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/autograd/ops/*_cases.cpp)
file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/autograd/cases/*.cpp)
set(declared "")
set(listed "")
foreach(table ${tables})
  get_filename_component(name ${table} NAME_WE)
  string(APPEND declared "namespace ${name} {\nOpCases table();\n}\n")
  string(APPEND listed "\n        ${name}::table(),")
endforeach()
set(list_source ${PROJECT_BINARY_DIR}/generated/op_cases.cpp)
file(CONFIGURE OUTPUT ${list_source} @ONLY CONTENT "#include \"autograd/cases/op_cases.h\"

namespace heddle {

@declared@
const std::vector<OpCases>& op_cases() {
    static const std::vector<OpCases> all = {@listed@
    };
    return all;
}

}  // namespace heddle
")
add_library(heddle_op_cases STATIC ${tables} ${shared} ${list_source})
target_link_libraries(heddle_op_cases PUBLIC heddle_autograd nlohmann_json::nlohmann_json)
target_precompile_headers(heddle_op_cases REUSE_FROM heddle_core_objects)
# The cases only say what is to be computed, in the library: -Og compiles in nine tenths of the time of -O1.
target_compile_options(heddle_op_cases PRIVATE $<$<CONFIG:Release>:-Og>)
