// SPDX-License-Identifier: Apache-2.0
#include "src/export/exporter.h"

#include <poll.h>

namespace lens::exporting {

void Exporter::wait(int wake, std::chrono::milliseconds most) {
  pollfd woken{wake, POLLIN, 0};
  ::poll(&woken, 1, static_cast<int>(most.count()));
}

}  // namespace lens::exporting
