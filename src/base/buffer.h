// SPDX-License-Identifier: Apache-2.0
// Bytes that grow at the end. Unlike std::string it hands out room before it is written, without clearing it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace lens::base {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  /// Where the next bytes go, with room for `count` of them. Valid until the next call. Throws std::bad_alloc.
  std::byte* room(std::size_t count) {
    if (capacity_ - size_ < count) grow(count);
    return data_ + size_;
  }
  /// The bytes up to `end` (within the room) have been written.
  void written_to(const std::byte* end) noexcept { size_ = static_cast<std::size_t>(end - data_); }

  void append(const void* bytes, std::size_t count) {
    if (count == 0) return;
    std::memcpy(room(count), bytes, count);
    size_ += count;
  }
  void append(std::string_view text) { append(text.data(), text.size()); }

  void clear() noexcept { size_ = 0; }
  void shrink_to(std::size_t size) noexcept { size_ = size; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  void grow(std::size_t count) {
    std::size_t capacity = capacity_ ? capacity_ : 256;
    while (capacity - size_ < count) capacity *= 2;
    auto* data = static_cast<std::byte*>(std::realloc(data_, capacity));
    if (!data) throw std::bad_alloc();
    data_ = data;
    capacity_ = capacity;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace lens::base
