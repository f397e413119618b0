// SPDX-License-Identifier: Apache-2.0
// A program that records what its plugins record. Usage: plugin_host TRACES SCENARIO PLUGIN_A PLUGIN_B
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lens/lens.h"

namespace {

class Plugin {
 public:
  explicit Plugin(const char* path) : path_(path), library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_) record_ = reinterpret_cast<void (*)()>(dlsym(library_, "plugin_record"));
    if (!record_) fail(dlerror());
  }
  ~Plugin() { unload(); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  void record() const { record_(); }
  const void* address() const { return reinterpret_cast<const void*>(record_); }
  void unload() {
    if (!library_) return;
    dlclose(library_);
    library_ = nullptr;
    if (dlopen(path_, RTLD_NOW | RTLD_NOLOAD)) fail("the library is still there");
  }

  [[noreturn]] static void fail(const char* why) {
    std::fprintf(stderr, "plugin_host: %s\n", why);
    std::exit(1);
  }

 private:
  const char* path_;
  void* library_;
  void (*record_)() = nullptr;
};

using lens::GroupSet;

// Nothing has been drained when the first library goes and the second comes to lie in its place.
void replace(const char* path_a, const char* path_b) {
  const GroupSet groups = GroupSet::of({"plugin_a", "plugin_b", "plugins"});
  lens::set_enabled_span_groups(groups);
  Plugin a(path_a);
  a.record();
  const void* place = a.address();
  a.unload();
  Plugin b(path_b);
  constexpr int another_try = 3;  // another thread has mapped something into the gap meanwhile
  if (b.address() != place) std::exit(another_try);
  b.record();
  b.unload();
  lens::set_enabled_span_groups(groups);  // groups that are gone are not touched
}

void share(const char* path_a, const char* path_b) {
  const Plugin a(path_a), b(path_b);
  const lens::Group here("plugins");
  lens::set_enabled_span_groups(GroupSet::of({"plugins"}));
  if (!here.enabled()) Plugin::fail("the program's own group is off");
  a.record();
  b.record();
  lens::set_enabled_span_groups({});
  if (here.enabled()) Plugin::fail("the program's own group is on");
  a.record();
  b.record();
}

void load_late(const char* path_a, const char* path_b) {
  lens::set_enabled_span_groups(GroupSet::of({"plugin_b"}));
  const Plugin a(path_a), b(path_b);
  a.record();
  b.record();
}

}  // namespace

int main(int, char** arguments) {
  lens::Config config;
  config.enabled = true;
  config.exporter = "file";
  config.file_dir = arguments[1];
  config.shm_dir = "";
  config.run_id = "plugins";
  auto telemetry = lens::setup_telemetry(config, {.rank = 0, .world_size = 1});
  const std::string scenario = arguments[2];
  (scenario == "replace" ? replace : scenario == "share" ? share : load_late)(arguments[3], arguments[4]);
}
