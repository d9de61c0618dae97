// What a request in flight needs around its solve: candidates found by id, and the sums of the slate that is shown.
#pragma once

#include <nanobind/nanobind.h>

namespace excalibr::bindings {

void bind_requests(nanobind::module_& module);

}  // namespace excalibr::bindings
