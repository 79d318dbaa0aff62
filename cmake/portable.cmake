# HEDDLE_PORTABLE: programs and a Python module that need nothing of the system but glibc 2.34, libgcc_s and zlib (the tag manylinux_2_34).
# Every other library becomes part of them, with hidden symbols: a Python process may hold other versions of the same ones.
add_link_options(-static-libstdc++ LINKER:--gc-sections LINKER:-z,noexecstack)
add_compile_options(-ffunction-sections -fdata-sections)

# Newer versions of these functions would need a newer glibc: hypot 2.35, and for std::random_device arc4random 2.36.
set(older ${PROJECT_BINARY_DIR}/generated/older_glibc.cpp)
file(CONFIGURE OUTPUT ${older} @ONLY CONTENT [[
#include <sys/random.h>

#include <cstdlib>

extern "C" {
double older_hypot(double, double);
float older_hypotf(float, float);
__asm__(".symver older_hypot,hypot@GLIBC_2.2.5");
__asm__(".symver older_hypotf,hypotf@GLIBC_2.2.5");
double __wrap_hypot(double x, double y) { return older_hypot(x, y); }
float __wrap_hypotf(float x, float y) { return older_hypotf(x, y); }
unsigned arc4random() {
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
    return number;
}
}
]])
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_library(heddle_older_glibc STATIC ${older})
  set_target_properties(heddle_older_glibc PROPERTIES UNITY_BUILD OFF)
  add_link_options(LINKER:--wrap=hypot LINKER:--wrap=hypotf)
endif()

# fmt's library, from its own headers: distributions have it as a shared one.
set(fmt_source ${PROJECT_BINARY_DIR}/generated/fmt.cpp)
file(CONFIGURE OUTPUT ${fmt_source} CONTENT [[
#include <fmt/format-inl.h>
#include <locale>

FMT_BEGIN_NAMESPACE
namespace detail {
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
}  // namespace detail
FMT_END_NAMESPACE
]])
get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
add_library(heddle_fmt STATIC ${fmt_source})
set_target_properties(heddle_fmt PROPERTIES UNITY_BUILD OFF EXPORT_NAME fmt)
target_include_directories(heddle_fmt SYSTEM INTERFACE ${fmt_headers})
target_compile_options(heddle_fmt PRIVATE -w)
if(TARGET heddle_older_glibc)  # fmt's place at the end of every program
  target_link_libraries(heddle_fmt PUBLIC heddle_older_glibc)
endif()
set(HEDDLE_FMT heddle_fmt)

# SentencePiece with its own copy of protobuf, compiled from the source of its package on PyPI, which apps/wheel.sh unpacks.
set(HEDDLE_SENTENCEPIECE "" CACHE PATH "The folder sentencepiece/ of SentencePiece's source (HEDDLE_PORTABLE)")
function(heddle_own_libraries)
  if(NOT EXISTS ${HEDDLE_SENTENCEPIECE}/src/sentencepiece_processor.cc)
    message(FATAL_ERROR "HEDDLE_PORTABLE needs SentencePiece's source: HEDDLE_SENTENCEPIECE=\"${HEDDLE_SENTENCEPIECE}\"; bash apps/wheel.sh fetches it")
  endif()
  set(source ${HEDDLE_SENTENCEPIECE}/src)
  file(GLOB files ${source}/*.cc ${source}/builtin_pb/*.cc ${HEDDLE_SENTENCEPIECE}/third_party/protobuf-lite/*.cc)
  list(FILTER files EXCLUDE REGEX "(_test|_main|test_main|testharness)\\.cc$")
  file(GLOB flag ${HEDDLE_SENTENCEPIECE}/third_party/absl/flags/flag.cc)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/sentencepiece/config.h
       CONTENT "#define VERSION \"0.1.99\"\n#define PACKAGE \"sentencepiece\"\n#define PACKAGE_STRING \"sentencepiece\"\n")
  add_library(heddle_sentencepiece STATIC ${files} ${flag})
  set_target_properties(heddle_sentencepiece PROPERTIES UNITY_BUILD OFF CXX_STANDARD 17 CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(heddle_sentencepiece PRIVATE ${PROJECT_BINARY_DIR}/generated/sentencepiece ${source} ${source}/builtin_pb
                             ${HEDDLE_SENTENCEPIECE} ${HEDDLE_SENTENCEPIECE}/third_party ${HEDDLE_SENTENCEPIECE}/third_party/protobuf-lite)
  target_include_directories(heddle_sentencepiece SYSTEM INTERFACE ${source})
  target_compile_definitions(heddle_sentencepiece PRIVATE _USE_INTERNAL_STRING_VIEW HAVE_PTHREAD=1)
  target_compile_options(heddle_sentencepiece PRIVATE -w)
  set(SENTENCEPIECE_LIBRARY heddle_sentencepiece PARENT_SCOPE)
  set(SENTENCEPIECE_TRAIN_LIBRARY "" PARENT_SCOPE)
endfunction()
