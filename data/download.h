// Fetching data sets: a file over the network, checked, and unpacked.
//
// Nothing half done is ever left under a final name: a file or folder appears there complete, or not at all.
// Calls block; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace tern::data {

/// A file on the network: an http, https or file URL, and the MD5 checksum that its publisher names, in
/// lower-case hexadecimal digits.
struct RemoteFile {
  std::string url;
  std::string md5;
};

struct DownloadOptions {
  double connect_timeout = 20;  ///< seconds until the host must have answered
  double stall_timeout = 30;    ///< seconds without any data until the transfer is given up
  /// Called now and then with the bytes that have come and those expected (0 while unknown).
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Fetches `file` to `path`; a file that is there is replaced. Throws IoError when the host can't be reached,
/// the transfer fails or stalls, the checksum differs, or `path` can't be written.
void download(const RemoteFile& file, const std::filesystem::path& path, const DownloadOptions& options = {});

/// Unpacks an archive (zip, or tar compressed or not) into `folder`, which is made. Throws IoError when it
/// is damaged, or holds anything but files and folders below `folder`: absolute paths, "..", links.
void extract(const std::filesystem::path& archive, const std::filesystem::path& folder);

/// CIFAR-10's official archive in binary format: 170 MB.
RemoteFile cifar10_archive();

/// Makes `folder`/cifar-10-batches-bin from the archive, for cifar10(folder); does nothing when it is there.
/// Throws IoError as download() and extract() do, saying what else can be done.
void download_cifar10(const std::filesystem::path& folder, const DownloadOptions& options = {},
                      const RemoteFile& archive = cifar10_archive());

}  // namespace tern::data
