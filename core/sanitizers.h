// Defines HEDDLE_ADDRESS_SANITIZER and HEDDLE_THREAD_SANITIZER if this file is compiled for them. GCC tells by macros, clang by
// __has_feature.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HEDDLE_ADDRESS_SANITIZER)
#define HEDDLE_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__) && !defined(HEDDLE_THREAD_SANITIZER)
#define HEDDLE_THREAD_SANITIZER
#endif
