// The exact solver for Python: the questions of many users as one object, ranges of them solved and measured, and the
// curve of one of them.
#pragma once

#include <nanobind/nanobind.h>

namespace excalibr::bindings {

void bind_solver(nanobind::module_& module);

}  // namespace excalibr::bindings
