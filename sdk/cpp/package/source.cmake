# Makes an archive in which this folder stands alone: what it needs of the server's lowest room, and the licence, lie in
# it. Its top folder is millrace-sdk-cpp.
#
#   cmake -DARCHIVE=millrace-sdk-cpp.tar.gz -P sdk/cpp/package/source.cmake
cmake_minimum_required(VERSION 3.25)
if(NOT ARCHIVE)
  message(FATAL_ERROR "name the archive: -DARCHIVE=FILE.tar.gz")
endif()
get_filename_component(sdk "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
get_filename_component(root "${sdk}/../.." ABSOLUTE)
get_filename_component(archive "${ARCHIVE}" ABSOLUTE)
set(top "${archive}.parts/millrace-sdk-cpp")
file(REMOVE_RECURSE "${archive}.parts")
file(GLOB sources "${sdk}/*.cc" "${sdk}/*.h")
list(FILTER sources EXCLUDE REGEX "_test(ing)?\\.(cc|h)$")
file(COPY ${sources} "${sdk}/CMakeLists.txt" "${sdk}/README.md" "${sdk}/include" "${sdk}/package" "${sdk}/conformance"
     DESTINATION "${top}")
file(GLOB base "${root}/src/base/*.cc" "${root}/src/base/*.h")
list(FILTER base EXCLUDE REGEX "_test\\.cc$")
file(COPY ${base} DESTINATION "${top}/base")
file(COPY "${root}/LICENSE" DESTINATION "${top}")
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf "${archive}" millrace-sdk-cpp
                WORKING_DIRECTORY "${archive}.parts" COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE "${archive}.parts")
