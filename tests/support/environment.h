// SPDX-License-Identifier: Apache-2.0
// A process environment of a test's own.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace lens::test {

/// Holds exactly the given variables while it lives, so that no launcher's variable of the machine gets in; then what
/// was there before.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, const char*>> variables = {}) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) saved_.emplace_back(*entry);
    clearenv();
    for (const auto& [name, value] : variables) set(name, value);
  }
  ~Environment() {
    clearenv();
    for (const std::string& entry : saved_) {
      const auto equals = entry.find('=');
      set(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void set(const char* name, const char* value) { setenv(name, value, 1); }
  void unset(const char* name) { unsetenv(name); }

 private:
  std::vector<std::string> saved_;
};

}  // namespace lens::test
