# cmake --install: the library, its headers, and how CMake (find_package(edgekit)) and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(edgekit_package ${CMAKE_INSTALL_LIBDIR}/cmake/edgekit)
install(TARGETS edgekit EXPORT edgekit-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/edgekit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT edgekit-targets NAMESPACE edgekit:: DESTINATION ${edgekit_package})

configure_package_config_file(cmake/edgekit-config.cmake.in edgekit-config.cmake INSTALL_DESTINATION ${edgekit_package})
write_basic_package_version_file(edgekit-config-version.cmake VERSION ${edgekit_version} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/edgekit-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/edgekit-config-version.cmake
        DESTINATION ${edgekit_package})

# From where the file lies, so that `cmake --install --prefix` and a moved tree are right.
file(RELATIVE_PATH edgekit_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" edgekit_up ${edgekit_up})
set(prefix "\${pcfiledir}/${edgekit_up}")
set(libdir ${CMAKE_INSTALL_LIBDIR})
set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
set(version ${edgekit_version})
set(libs "")
foreach(library IN LISTS EDGEKIT_LIBM CMAKE_DL_LIBS)
  if(NOT library STREQUAL CMAKE_DL_LIBS OR EDGEKIT_BACKENDS)
    string(APPEND libs " -l${library}")
  endif()
endforeach()
configure_file(cmake/edgekit.pc.in edgekit.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/edgekit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
