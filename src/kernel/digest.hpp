// The digest of the sources that this module was built from; its definition is written by CMake (cmake/digest.cmake).
#pragma once

namespace excalibr {

const char* source_digest();  // 64 hexadecimal digits

}  // namespace excalibr
