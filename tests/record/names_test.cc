// SPDX-License-Identifier: Apache-2.0
#include "src/record/names.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "lens/span.h"

namespace lens::record {
namespace {

std::uint32_t id_of(std::string_view text) {
  return detail::name_id(text.data(), text.size(), detail::text_hash(text.data(), text.size()));
}

TEST(Names, HaveOneIdPerContent) {
  const std::string copy = "a name";
  EXPECT_EQ(id_of("a name"), id_of(copy));
  EXPECT_NE(id_of("a name"), id_of("another"));
  EXPECT_EQ(Names::text(id_of("a name")), "a name");
  EXPECT_EQ(Name("a name").id(), id_of(copy));
  EXPECT_EQ(Names::text(id_of("")), "");
}

TEST(Names, AreTheSameFromEveryThread) {
  constexpr int count = 500;
  std::vector<std::vector<std::uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (auto& mine : ids)
    threads.emplace_back([&mine] {
      for (int i = 0; i < count; ++i) mine.push_back(id_of("name " + std::to_string(i)));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
  EXPECT_EQ(std::set<std::uint32_t>(ids[0].begin(), ids[0].end()).size(), std::size_t{count});
  for (int i = 0; i < count; ++i) EXPECT_EQ(Names::text(ids[0][std::size_t(i)]), "name " + std::to_string(i));
}

TEST(Names, BeyondTheTableShareOne) {
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < max_names + 10; ++i) last = id_of("many " + std::to_string(i));
  EXPECT_EQ(Names::text(last), "lens.too_many_names");
  EXPECT_LE(Names::count(), max_names);
  EXPECT_EQ(Names::text(0), "lens.unknown_name");
  EXPECT_EQ(Names::text(0xffffffff), "lens.unknown_name");
}

TEST(TextHash, IsTheSameAtCompileTimeAndAtRunTime) {
  constexpr std::string_view text = "megatron.forward_backward";
  constexpr std::uint64_t compiled = detail::text_hash(text.data(), text.size());
  const std::string copy(text);
  EXPECT_EQ(detail::text_hash(copy.data(), copy.size()), compiled);
}

}  // namespace
}  // namespace lens::record
