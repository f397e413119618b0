// SPDX-License-Identifier: Apache-2.0
// A destructor that runs while the stack unwinds cannot ask the language which exception is in flight: it is not caught
// yet, and the runtime keeps no pointer to it. But the code that called the destructor must keep one, to go on
// unwinding: in a callee-saved register or in its frame. So the callers' registers and frames are searched for a
// pointer to an exception header, which begins with the runtime's signature. All memory is read through the kernel, so
// that a stray value is an error code and not a fault. When nothing is found the event is recorded without details.
#include "src/record/in_flight_exception.h"

#include <cxxabi.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <typeinfo>

#include "lens/span.h"

namespace lens::record {
namespace {

bool read_memory(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == ssize_t(bytes);
}

/// The exception header of the Itanium C++ ABI as GNU's runtime lays it out, from its reference count on. A dependent
/// exception (rethrown from an exception_ptr) has the thrown object's address in the place of the type.
struct ExceptionHeader {
  std::int32_t reference_count;
  alignas(16) std::uintptr_t type_or_object;
  void* destructor;
  void* unexpected_handler;
  void* terminate_handler;
  void* next;
  std::int32_t handler_count;
  std::int32_t handler_switch_value;
  void* action_record;
  void* language_data;
  std::uintptr_t catch_temp;
  void* adjusted;
  alignas(16) std::uint64_t exception_class;
  void* cleanup;
  std::uint64_t forced_unwind;
  std::uintptr_t handler_frame;  // the stack address of the function that will catch it; 0 before it is thrown
};
static_assert(sizeof(ExceptionHeader) == 128);
constexpr std::size_t class_offset = offsetof(ExceptionHeader, exception_class);
constexpr std::uint64_t primary_class = 0x474e5543432b2b00;  // "GNUCC++\0"
constexpr std::uint64_t dependent_class = primary_class + 1;

struct Thrown {
  const std::type_info* type = nullptr;
  void* object = nullptr;
  std::uintptr_t handler_frame = UINTPTR_MAX;
};

// The exception whose unwind header is at `address`, if there is one that nobody has caught yet.
Thrown exception_at(std::uintptr_t address) noexcept {
  if (address % 16 != 0 || address < 65'536) return {};
  ExceptionHeader header;
  if (!read_memory(address - class_offset, &header, sizeof header)) return {};
  constexpr std::int32_t plausible_references = 1 << 16;
  if (header.exception_class != primary_class && header.exception_class != dependent_class) return {};
  if (header.handler_count > 0 || header.handler_frame == 0) return {};
  const std::uintptr_t handler_frame = header.handler_frame;
  std::uintptr_t object = address - class_offset + sizeof(ExceptionHeader);
  if (header.exception_class == dependent_class) {
    object = header.type_or_object;
    if (!read_memory(object - sizeof header, &header, sizeof header)) return {};
    if (header.exception_class != primary_class) return {};
  }
  // Only a primary exception is counted; a freed one has none.
  if (header.reference_count < 1 || header.reference_count > plausible_references) return {};
  return {reinterpret_cast<const std::type_info*>(header.type_or_object), reinterpret_cast<void*>(object),
          handler_frame};
}

struct Search {
  static constexpr int max_frames = 8;
  int frames = 0;
  std::uintptr_t frame_begin = 0;
  Thrown found{};
};

// Several may be in flight, one per destructor that throws inside while the stack unwinds. The youngest is caught
// first: its handler's frame is the innermost, at the lowest address. (Two that one function will catch cannot be told
// apart.)
void consider(std::uintptr_t address, Search& search) noexcept {
  const Thrown thrown = exception_at(address);
  if (thrown.type && thrown.handler_frame < search.found.handler_frame) search.found = thrown;
}

void search_registers(_Unwind_Context* context, Search& search) noexcept {
#if defined(__x86_64__)
  constexpr int callee_saved[] = {3, 6, 12, 13, 14, 15};  // rbx, rbp, r12 to r15 in DWARF numbers
#elif defined(__aarch64__)
  constexpr int callee_saved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
#else
  constexpr int callee_saved[] = {0};
#endif
  for (int number : callee_saved) consider(_Unwind_GetGR(context, number), search);
}

void search_frame(std::uintptr_t begin, std::uintptr_t end, Search& search) noexcept {
  constexpr std::size_t max_words = 1024;
  std::uintptr_t words[max_words];
  const std::size_t count = std::min<std::size_t>((end - begin) / sizeof words[0], max_words);
  if (!read_memory(begin, words, count * sizeof words[0])) return;
  for (std::size_t i = 0; i < count; ++i) consider(words[i], search);
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const std::uintptr_t frame_end = _Unwind_GetCFA(context);
  if (search.frame_begin != 0 && frame_end > search.frame_begin) search_frame(search.frame_begin, frame_end, search);
  search.frame_begin = frame_end;
  search_registers(context, search);
  return ++search.frames < Search::max_frames ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

std::string_view message_of(const Thrown& thrown) noexcept {
  void* object = thrown.object;
  if (!typeid(std::exception).__do_catch(thrown.type, &object, 1)) return {};
  return static_cast<const std::exception*>(object)->what();
}

}  // namespace

void record_in_flight_exception(detail::Position position) noexcept {
  using namespace detail;
  static constexpr Key<"exception.type"> type_key;
  static constexpr Key<"exception.message"> message_key;
  static constexpr Name event_name = "exception";

  Search search;
  _Unwind_Backtrace(visit, &search);
  if (!search.found.type) {
    append_about(position, RecordKind::event, event_name.id(), false);
    return set_status(position, StatusCode::error, {});
  }
  const std::string_view message = message_of(search.found);
  char* demangled = abi::__cxa_demangle(search.found.type->name(), nullptr, nullptr, nullptr);
  append_about(position, RecordKind::event, event_name.id(), false,
               TextItem(type_key.id(), demangled ? demangled : search.found.type->name()),
               TextItem(message_key.id(), message));
  std::free(demangled);
  set_status(position, StatusCode::error, message);
}

}  // namespace lens::record
