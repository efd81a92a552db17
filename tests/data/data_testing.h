// Folders, files and small datasets for the tests of data/.
#pragma once

#include <tern/data/data_loader.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace tern::tests {

namespace fs = std::filesystem;

/// A new empty folder, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "tern-data-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
  }
  ~TempFolder() { fs::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

inline void write_file(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

/// A folder of real data that lies beside the project or where TERN_SHARED_DATA points, or nothing; says so.
inline std::optional<fs::path> shared_data(const std::string& name) {
  const char* set = std::getenv("TERN_SHARED_DATA");
  const fs::path project = fs::path(__FILE__).parent_path().parent_path().parent_path();
  const fs::path folder = (set ? fs::path(set) : fs::absolute(project) / "../shared/data") / name;
  if (fs::exists(folder)) return folder;
  MESSAGE("skipped: there is no ", folder.string());
  return std::nullopt;
}

template <class T>
std::vector<T> values_of(const Tensor& x) {
  return {x.data<T>(), x.data<T>() + x.numel()};
}

/// Sample i is (i, a random number, i): data [2] and target.
struct Numbers {
  int64_t count;
  int64_t size() const { return count; }
  data::Example get(int64_t index, PhiloxStream& random) const {
    Tensor x = empty({2});
    x.data<float>()[0] = static_cast<float>(index);
    x.data<float>()[1] = static_cast<float>(random.uniform());
    return {x, data::scalar(index)};
  }
};

/// Every batch of one pass: the data's values, and the targets.
template <class Loader>
std::vector<std::pair<std::vector<float>, std::vector<int64_t>>> pass_of(Loader& loader) {
  std::vector<std::pair<std::vector<float>, std::vector<int64_t>>> batches;
  for (auto& [data, target] : loader)
    batches.emplace_back(values_of<float>(data), values_of<int64_t>(target));
  return batches;
}

/// The targets of one pass, one after the other.
template <class Loader>
std::vector<int64_t> targets_of(Loader& loader) {
  std::vector<int64_t> all;
  for (auto& batch : pass_of(loader)) all.insert(all.end(), batch.second.begin(), batch.second.end());
  return all;
}

}  // namespace tern::tests
