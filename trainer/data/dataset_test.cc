// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace sinew::trainer {
namespace {

std::string Idx(std::vector<uint32_t> dimensions, const std::string& bytes) {
  std::string out = {0, 0, 8, static_cast<char>(dimensions.size())};
  for (const uint32_t d : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(d >> shift & 255));
  }
  return out + bytes;
}

class DatasetTest : public testing::Test {
 protected:
  DatasetTest() : folder_(testing::TempDir() + "/dataset_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    Write("train-images-idx3-ubyte", Idx({3, 2, 2}, std::string("\x00\x01\x02\x03\x04\x05\x06\x07\xff\xfe\xfd\xfc", 12)));
    Write("train-labels-idx1-ubyte", Idx({3}, std::string("\x00\x01\x02", 3)));
    Write("t10k-images-idx3-ubyte", Idx({1, 2, 2}, "abcd"));
    Write("t10k-labels-idx1-ubyte", Idx({1}, std::string("\x02", 1)));
  }
  ~DatasetTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
  }
  std::string Error() { return std::string(ReadIdxDataset(folder_, 2, 2, 3).status().message()); }

  const std::string folder_;
};

TEST_F(DatasetTest, GivesNormalisedBatches) {
  const auto data = ReadIdxDataset(folder_, 2, 2, 3);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size(), 3);
  EXPECT_EQ(data->test.size(), 1);
  std::vector<float> pixels(12);
  std::vector<uint8_t> labels(3);
  const std::vector<int64_t> all = {2, 0, 1};
  data->train.Batch(all, data->normalisation, pixels, labels);
  EXPECT_EQ(labels, (std::vector<uint8_t>{2, 0, 1}));
  double sum = 0, squares = 0;
  for (const float p : pixels) {
    sum += p;
    squares += double{p} * p;
  }
  EXPECT_NEAR(sum / 12, 0, 1e-6);
  EXPECT_NEAR(squares / 12, 1, 1e-6);
  data->train.Batch(all, {}, pixels, labels);
  EXPECT_EQ(pixels[0], 1.0f);
  EXPECT_EQ(pixels[4], 0.0f);
  EXPECT_EQ(pixels[5], 1.0f / 255);
}

TEST_F(DatasetTest, MeasuresAnEvenSetWithoutDividingByZero) {
  const ImageSet even(1, 2, {7, 7, 7, 7}, {0, 0});
  EXPECT_EQ(even.Measure().deviation, 1.0f);
}

TEST_F(DatasetTest, RefusesWhatDoesNotFit) {
  Write("train-labels-idx1-ubyte", Idx({2}, std::string("\x00\x01", 2)));
  EXPECT_EQ(Error(), folder_ + "/train-images-idx3-ubyte holds 3 images, but " + folder_ +
                         "/train-labels-idx1-ubyte holds 2 labels");
  Write("train-labels-idx1-ubyte", Idx({3}, std::string("\x00\x03\x02", 3)));
  EXPECT_EQ(Error(), folder_ + "/train-labels-idx1-ubyte: label 1 is 3; the model knows 0 to 2");
  EXPECT_EQ(ReadIdxDataset(folder_, 28, 28, 10).status().message(),
            folder_ + "/train-images-idx3-ubyte holds images of 2x2; the model takes 28x28");
}

}  // namespace
}  // namespace sinew::trainer
