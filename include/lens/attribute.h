// SPDX-License-Identifier: Apache-2.0
// Attributes: `"key"_a = value`. Included by span.h; include it for `lens::attribute` with run-time keys.
//
// A value is a bool, an integer, a floating-point number, a string, an array of one of these, or a callable that
// returns one and is called only when the span is recorded; anything else does not compile.
//
// Threads:   any.
// Ownership: an attribute borrows strings and arrays until the call it is passed to returns.
// Errors:    none. A string longer than 65,535 bytes or an array of more elements is cut there.
// Cost:      nothing on a disabled site; a literal key is interned once per program.
#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lens/recorder.h"

namespace lens {

namespace detail {

inline constexpr std::size_t max_count = 0xffff;

struct ScalarItem {
  ItemHeader header;
  std::uint64_t value;

  static constexpr std::uint64_t bytes() noexcept { return sizeof(ItemHeader) + 8; }
  LENS_INLINE void write(std::byte* at) const noexcept { std::memcpy(at, this, sizeof *this); }
};
static_assert(sizeof(ScalarItem) == ScalarItem::bytes());

struct TextItem {
  ItemHeader header;
  const char* text;

  TextItem(std::uint32_t key, std::string_view value, ItemType type = ItemType::string, std::uint8_t extra = 0) noexcept
      : header{key, type, extra, std::uint16_t(std::min(value.size(), max_count))}, text(value.data()) {}
  LENS_INLINE std::uint64_t bytes() const noexcept { return sizeof(ItemHeader) + padded(header.count); }
  LENS_INLINE void write(std::byte* at) const noexcept {
    std::memcpy(at, &header, sizeof header);
    copy_text(at + sizeof header, text, header.count);
  }
};

/// Elements of 8 bytes each.
template <class T>
struct ArrayItem {
  ItemHeader header;
  const T* elements;

  std::uint64_t bytes() const noexcept { return sizeof(ItemHeader) + std::uint64_t(header.count) * 8; }
  void write(std::byte* at) const noexcept {
    std::memcpy(at, &header, sizeof header);
    at += sizeof header;
    using Wide = std::conditional_t<std::floating_point<T>, double, std::int64_t>;
    for (std::size_t i = 0; i < header.count; ++i, at += 8) {
      const auto wide = static_cast<Wide>(elements[i]);
      std::memcpy(at, &wide, 8);
    }
  }
};

/// Each element a 4-byte length and the text, padded to 8.
template <class T>
struct TextArrayItem {
  ItemHeader header;
  const T* elements;

  static std::uint64_t element_bytes(std::string_view text) noexcept {
    return padded(4 + std::min(text.size(), max_count));
  }
  std::uint64_t bytes() const noexcept {
    std::uint64_t sum = sizeof(ItemHeader);
    for (std::size_t i = 0; i < header.count; ++i) sum += element_bytes(elements[i]);
    return sum;
  }
  void write(std::byte* at) const noexcept {
    std::memcpy(at, &header, sizeof header);
    at += sizeof header;
    for (std::size_t i = 0; i < header.count; ++i) {
      const std::string_view text = elements[i];
      const auto size = std::uint32_t(std::min(text.size(), max_count));
      std::memcpy(at, &size, 4);
      copy_text(at + 4, text.data(), size);
      at += element_bytes(text);
    }
  }
};

template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;
template <class T>
concept Scalar = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool fits_signed = !std::unsigned_integral<T> || sizeof(T) < sizeof(std::int64_t);
template <class T>
concept Element = Scalar<T> || Text<T>;
template <class T>
concept Array = !Text<T> && requires(const T& t) {
  {std::data(t)};
  {std::size(t)};
  requires Element<std::remove_cvref_t<decltype(*std::data(t))>>;
};
template <class T>
concept Value = Scalar<T> || Text<T> || Array<T>;
template <class T>
concept Deferred = std::invocable<const T&> && Value<std::remove_cvref_t<std::invoke_result_t<const T&>>>;

template <class T>
LENS_INLINE auto item(std::uint32_t key, const T& value) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return ScalarItem{{key, ItemType::boolean, 0, 0}, value};
  } else if constexpr (std::integral<T> && !fits_signed<T>) {
    return ScalarItem{{key, ItemType::unsigned_integer, 0, 0}, value};
  } else if constexpr (std::integral<T>) {
    return ScalarItem{{key, ItemType::integer, 0, 0}, static_cast<std::uint64_t>(static_cast<std::int64_t>(value))};
  } else if constexpr (std::floating_point<T>) {
    return ScalarItem{{key, ItemType::floating, 0, 0}, __builtin_bit_cast(std::uint64_t, static_cast<double>(value))};
  } else if constexpr (Text<T>) {
    if constexpr (std::is_pointer_v<T>) {
      return TextItem{key, value ? std::string_view(value) : std::string_view()};
    } else {
      return TextItem{key, std::string_view(value)};
    }
  } else {
    using E = std::remove_cvref_t<decltype(*std::data(value))>;
    const auto count = std::uint16_t(std::min<std::size_t>(std::size(value), max_count));
    if constexpr (Text<E>) {
      return TextArrayItem<E>{{key, ItemType::string_array, 0, count}, std::data(value)};
    } else {
      constexpr auto type = std::same_as<E, bool> ? ItemType::boolean_array
                            : !fits_signed<E>     ? ItemType::unsigned_array
                            : std::integral<E>    ? ItemType::integer_array
                                                  : ItemType::floating_array;
      return ArrayItem<E>{{key, type, 0, count}, std::data(value)};
    }
  }
}

/// A string literal as a template argument.
template <std::size_t N>
struct Literal {
  char text[N];
  consteval Literal(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace detail

/// A key and its value, to be passed to a span at once. Strings and arrays are borrowed.
template <class K, class V>
struct [[nodiscard]] Attribute {
  K key;
  V value;
};

namespace detail {

template <class K, class T>
LENS_INLINE constexpr auto make_attribute(K key, T&& value) noexcept {
  using Given = std::remove_cvref_t<T>;
  static_assert(Value<Given> || Deferred<Given>,
                "an attribute is a bool, an integer, a floating-point number, a string, an array of these, or a "
                "callable that returns one");
  // Scalars and pointers by value, all else by reference: it lives until the span has taken it.
  if constexpr (Scalar<Given> || std::is_pointer_v<Given>) {
    return Attribute<K, Given>{key, value};
  } else {
    return Attribute<K, const std::remove_reference_t<T>&>{key, value};
  }
}

}  // namespace detail

/// A key that is known at compile time.
template <detail::Literal Name>
struct Key {
  static LENS_INLINE std::uint32_t id() noexcept {
    const std::uint32_t known = id_.load(std::memory_order_relaxed);
    if (known != 0) [[likely]]
      return known;
    return first_id();
  }
  static constexpr std::string_view name() noexcept { return Name.view(); }

  template <class T>
  LENS_INLINE constexpr auto operator=(T&& value) const noexcept {
    return detail::make_attribute(Key{}, std::forward<T>(value));
  }

 private:
  [[gnu::noinline]] static std::uint32_t first_id() noexcept {
    constexpr std::string_view text = Name.view();
    const std::uint32_t id = detail::intern(text, detail::text_hash(text.data(), text.size()));
    id_.store(id, std::memory_order_relaxed);
    return id;
  }
  // Relaxed: an id is complete in itself, and every thread that interns the text gets the same one.
  static inline std::atomic<std::uint32_t> id_{0};
};

/// A key that takes one type of value: the attributes of lens/megatron.h.
template <detail::Literal Name, class T>
struct TypedKey : Key<Name> {
  template <class V>
  LENS_INLINE constexpr auto operator=(V&& value) const noexcept {
    using Given = std::remove_cvref_t<V>;
    constexpr bool fits = (std::same_as<T, bool> && std::same_as<Given, bool>) ||
                          (std::same_as<T, std::int64_t> && std::integral<Given> && !std::same_as<Given, bool>) ||
                          (std::same_as<T, double> && std::floating_point<Given>) ||
                          (std::same_as<T, std::string_view> && detail::Text<Given>) ||
                          std::is_invocable_r_v<T, const Given&>;
    static_assert(fits, "this attribute takes another type of value");
    return Key<Name>{} = std::forward<V>(value);
  }
};

/// A key that is known at run time only; costs a hash per use.
struct RuntimeKey {
  std::string_view text;
  std::string_view name() const noexcept { return text; }
  std::uint32_t id() const noexcept {
    return detail::name_id(text.data(), text.size(), detail::text_hash(text.data(), text.size()));
  }
};

namespace detail {

/// The item an attribute is recorded as; calls a deferred value, here and nowhere else. The result owns what the
/// callable returned.
template <class K, class V>
LENS_INLINE auto resolved(const Attribute<K, V>& attribute) {
  using Given = std::remove_cvref_t<V>;
  if constexpr (Value<Given>) {
    return Attribute<K, const Given&>{attribute.key, attribute.value};
  } else {
    return Attribute<K, std::remove_cvref_t<std::invoke_result_t<const Given&>>>{attribute.key, attribute.value()};
  }
}

template <class K, class V>
LENS_INLINE auto item_of(const Attribute<K, V>& attribute) noexcept {
  return item<std::remove_cvref_t<V>>(attribute.key.id(), attribute.value);
}

}  // namespace detail

/// An attribute whose key is known at run time only: `lens::attribute(key, value)`.
template <class T>
LENS_INLINE constexpr auto attribute(std::string_view key, T&& value) noexcept {
  return detail::make_attribute(RuntimeKey{key}, std::forward<T>(value));
}

inline namespace literals {
template <detail::Literal Name>
LENS_INLINE constexpr auto operator""_a() noexcept {
  return Key<Name>{};
}
}  // namespace literals

}  // namespace lens
