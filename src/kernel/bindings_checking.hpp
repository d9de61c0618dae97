// What callers give, checked and packed, for Python: `Checked`, and where and what its faults are.
#pragma once

#include <nanobind/nanobind.h>

namespace excalibr::bindings {

void bind_checking(nanobind::module_& module);

}  // namespace excalibr::bindings
