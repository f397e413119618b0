// SPDX-License-Identifier: Apache-2.0
// Certificates for servers and clients on loopback.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/support/temporary_directory.h"

namespace lens::tests {

/// An authority, and certificates of it for the server 127.0.0.1 and for a client, made by openssl.
class Certificates {
 public:
  Certificates() {
    const std::string directory = directory_.path();
    const std::string script = "cd " + directory +
                               " && exec 2>/dev/null && key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'"
                               " && openssl req -x509 $key -subj /CN=authority -days 1 -keyout ca.key -out ca.pem"
                               " && printf subjectAltName=IP:127.0.0.1 > names"
                               " && for who in server client; do"
                               "   openssl req $key -subj /CN=$who -keyout $who.key -out $who.csr &&"
                               "   openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1"
                               "     -extfile names -out $who.pem || exit 1; done";
    made_ = std::system(script.c_str()) == 0;
  }
  bool made() const noexcept { return made_; }
  std::string path(const std::string& name) const { return directory_.path() / name; }
  std::string text(const std::string& name) const { return directory_.read(name); }
  /// The server's, as the OpenTelemetry Collector is told of it.
  std::string of_collector() const {
    return "{cert_file: '" + path("server.pem") + "', key_file: '" + path("server.key") + "'}";
  }

 private:
  TemporaryDirectory directory_;
  bool made_;
};

}  // namespace lens::tests
