# cmake --install: the program, the libraries with their headers, and what find_package(heddle) reads. Two components: `program`
# is what a person runs, `development` what other programs are built with; a third, `emulator`, on request (kernels/emulator/emulator.cmake).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms core kernels autograd nn optim heddle)
foreach(room ${rooms})
  set_target_properties(heddle_${room} PROPERTIES EXPORT_NAME ${room})
  list(APPEND libraries heddle_${room})
endforeach()
add_library(heddle::heddle ALIAS heddle_heddle)  # the same name for projects that add Heddle's source tree to theirs
set_target_properties(heddle_cuda PROPERTIES EXPORT_NAME cuda)
list(APPEND libraries heddle_cuda)
if(TARGET heddle_emulator)
  set_target_properties(heddle_emulator PROPERTIES EXPORT_NAME emulator)
  list(APPEND libraries heddle_emulator)
endif()
if(HEDDLE_PORTABLE)  # nobody installs them, but what is exported must know what it is linked to
  list(APPEND libraries heddle_fmt)
  if(TARGET heddle_older_glibc)
    list(APPEND libraries heddle_older_glibc)
  endif()
endif()
install(TARGETS ${libraries} EXPORT heddle ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The headers of all rooms lie below include/heddle, and include/ alone is on the path: another project's core/tensor.h is never taken for
# Heddle's, nor the other way. Here they include each other as "core/tensor.h"; the installed copies say "heddle/core/tensor.h". Not installed
# are the headers of detail/ folders, of the ops' cases and of attention's variants, and a room's own (_impl). A program's kernels are written
# with kernels/device; where they are emulated, they need the emulator's headers, too, and without CUDA nothing but the declarations.
list(REMOVE_ITEM rooms heddle)
install(DIRECTORY ${rooms} heddle/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle COMPONENT development FILES_MATCHING PATTERN "*.h"
        PATTERN "kernels/device" EXCLUDE PATTERN "kernels/emulator" EXCLUDE
        REGEX "/detail$|/autograd/cases$|/attention/(plain|mma|short)$|/kernels/simd[a-z_]*\\.h$|_simd\\.h$|_impl\\.h$" EXCLUDE)
set(device_headers kernels/device/declare.h)
if(NOT HEDDLE_CUDA_MODE STREQUAL "off")
  file(GLOB device_headers CONFIGURE_DEPENDS kernels/device/*.h)
endif()
install(FILES ${device_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/kernels/device COMPONENT development)
if(HEDDLE_CUDA_MODE STREQUAL "emulated")
  heddle_install_emulator_headers(${CMAKE_INSTALL_INCLUDEDIR}/heddle/kernels development)
endif()
list(JOIN rooms "|" room_names)
install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/heddle\")
set(room_names \"${room_names}\")" COMPONENT development)
install(SCRIPT cmake/installed_headers.cmake COMPONENT development)

if(HEDDLE_EMULATOR_CHECK)
  heddle_install_emulator(heddle_emulator heddle_emulator_checked)
endif()

set(config ${PROJECT_BINARY_DIR}/generated)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
configure_package_config_file(cmake/heddleConfig.cmake.in ${config}/heddleConfig.cmake INSTALL_DESTINATION ${config_folder}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${config}/heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config}/heddleConfig.cmake ${config}/heddleConfigVersion.cmake cmake/heddleKernels.cmake cmake/heddleChips.cmake DESTINATION ${config_folder} COMPONENT development)
install(EXPORT heddle NAMESPACE heddle:: FILE heddleTargets.cmake DESTINATION ${config_folder} COMPONENT development)

install(TARGETS heddle heddle-lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
# heddle check: what programs of CUDA C++ are compiled and linked with.
if(TARGET heddle_emulator_checked)
  install(FILES $<TARGET_FILE:heddle_emulator_checked> DESTINATION ${HEDDLE_CHECK_INSTALLED} COMPONENT program)
  heddle_install_emulator_headers(${HEDDLE_CHECK_INSTALLED}/include/kernels program)
endif()
# heddle learn: the exercises, and the headers that answers include, as in the source tree.
if(TARGET heddle-grader)
  set(learn ${CMAKE_INSTALL_DATADIR}/heddle/learn)
  install(TARGETS heddle-grader RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY apps/learn/exercises DESTINATION ${learn} COMPONENT program FILES_MATCHING PATTERN "*.md")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/learn/exercises DESTINATION ${learn}/include COMPONENT program)
  include(cmake/learn.cmake)
  foreach(header IN LISTS HEDDLE_LEARN_HEADERS)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${header} DESTINATION ${learn}/include/${folder} COMPONENT program)
  endforeach()
endif()
install(FILES ${PROJECT_BINARY_DIR}/generated/heddle.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES apps/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program RENAME heddle)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program RENAME copyright)

# cpack -G DEB: heddle_*.deb with the program, heddle-dev_*.deb with the libraries and headers.
set(CPACK_PACKAGE_NAME heddle)
set(CPACK_PACKAGE_CONTACT "The Heddle authors")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Trains and runs translation models from the command line.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Static libraries and headers for C++ programs.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME heddle)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME heddle-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS libfmt-dev)
# dpkg-shlibdeps (package dpkg-dev) finds the packages of the shared libraries that the program uses.
find_program(HEDDLE_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(HEDDLE_SHLIBDEPS)
if(HEDDLE_SHLIBDEPS)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
endif()
if(HEDDLE_PYTHON_MODULE)  # python3-heddle_*.deb
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Translates, trains, proves gradients and checks kernels from Python.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-heddle)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "heddle (= ${PROJECT_VERSION}), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ${CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS})
endif()
set(CPACK_STRIP_FILES ON)
include(CPack)
