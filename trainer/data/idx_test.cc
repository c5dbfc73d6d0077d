// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/idx.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "trainer/data/random.h"

namespace sinew::trainer {
namespace {

class IdxTest : public testing::Test {
 protected:
  IdxTest() : folder_(testing::TempDir() + "/idx_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~IdxTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string WriteGz(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path;
  }
  std::string Error(const std::string& path, int dimensions) {
    return std::string(ReadIdx(path, dimensions).status().message());
  }

  const std::string folder_;
};

const std::string kTwoByThree("\0\0\x08\x02\0\0\0\x02\0\0\0\x03" "abcdef", 18);

TEST_F(IdxTest, ReadsPlainAndCompressed) {
  for (const std::string& name : {Write("plain", kTwoByThree), WriteGz("compressed.gz", kTwoByThree)}) {
    const auto array = ReadIdx(name, 2);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->dimensions, (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(std::string(array->bytes.begin(), array->bytes.end()), "abcdef");
  }
  EXPECT_TRUE(ReadIdx(folder_ + "/compressed", 2).ok()) << "without its .gz";
}

TEST_F(IdxTest, NamesWhatIsWrong) {
  EXPECT_EQ(Error(folder_ + "/none", 1), "neither " + folder_ + "/none nor " + folder_ + "/none.gz exists");
  std::string path = Write("short", kTwoByThree.substr(0, 15));
  EXPECT_EQ(Error(path, 2), path + ": ends after 15 bytes; its header asks for 18");
  path = Write("header", kTwoByThree.substr(0, 7));
  EXPECT_EQ(Error(path, 2), path + ": ends after 7 bytes; its header asks for 12");
  path = Write("empty", "");
  EXPECT_EQ(Error(path, 2), path + ": ends after 0 bytes; its header asks for 4");
  path = Write("long", kTwoByThree + "x");
  EXPECT_EQ(Error(path, 2), path + ": is longer than the 18 bytes of its header");
  path = Write("text", "PK\x03\x04, and so on");
  EXPECT_EQ(Error(path, 2), path + ": is not an IDX file: it does not begin with two zero bytes");
  path = Write("floats", std::string("\0\0\x0d\x01\0\0\0\x01" "abcd", 12));
  EXPECT_EQ(Error(path, 1), path + ": holds elements of type 13; only unsigned bytes (8) are read");
  path = Write("plain", kTwoByThree);
  EXPECT_EQ(Error(path, 3), path + ": has 2 dimensions; expected 3");
  path = Write("zero", std::string("\0\0\x08\x01\0\0\0\0", 8));
  EXPECT_EQ(Error(path, 1), path + ": dimension 0 is 0");
  path = Write("folder/..", "");
  EXPECT_FALSE(ReadIdx(folder_, 1).ok());
}

TEST_F(IdxTest, TakesNoMemoryForWhatAHeaderOnlyClaims) {
  const std::string path = Write("huge", std::string("\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", 12));
  EXPECT_EQ(Error(path, 2), path + ": asks for more than 4294967296 bytes");
  // Below the limit: an address space of 1 GB more than now must be enough to find out.
  const std::string claims = Write("claims", std::string("\0\0\x08\x02\0\0\xff\xff\0\0\xff\xff", 12));
  EXPECT_EQ(Error(claims, 2), claims + ": ends after 12 bytes; its header asks for 4294836237");
}

TEST_F(IdxTest, NeverTakesADamagedFileForAWholeOne) {
  const std::string good = [&] {
    std::string noise = kTwoByThree;
    std::ifstream in(WriteGz("good.gz", noise), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::string bad = good.substr(0, 1 + random.Below(good.size()));
    if (round % 2 == 0 || bad.size() == good.size()) bad[random.Below(bad.size())] ^= static_cast<char>(1 + random.Below(255));
    const auto array = ReadIdx(Write("bad.gz", bad), 2);
    // A changed name or time in gzip's own header changes no content.
    if (!array.ok()) continue;
    EXPECT_EQ(std::string(array->bytes.begin(), array->bytes.end()), "abcdef") << round;
  }
}

}  // namespace
}  // namespace sinew::trainer
