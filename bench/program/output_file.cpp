// SPDX-License-Identifier: MIT
#include "bench/program/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

// Functions here that return bool set errno if they fail.
namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  const char* advice = error == ENOENT                      ? "create its folder"
                       : error == ENOSPC || error == EDQUOT ? "free some space"
                                                            : "choose another file";
  throw_error(Exit::failed, "{}: cannot write: {}; {}", path, std::strerror(error), advice);
}

// The folder of a file, opened, and names in it: relative to the folder, a name may have the full
// length that the file system allows.
struct Destination {
  Descriptor folder;
  std::string folder_path, name, temporary;

  explicit Destination(const std::string& file) {
    const std::filesystem::path path(file);
    folder_path = path.has_parent_path() ? path.parent_path().string() : ".";
    name = path.filename().string();
    // The temporary name is the same for every writer of the file: if a writer was killed while it
    // replaced the file, the next one removes what it left. It is short, because the name of the
    // file may have the full length.
    temporary = fmt::format(".heapwood-{:016x}.tmp", std::hash<std::string>()(name));
    folder = Descriptor(::open(folder_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  bool remove_temporary() const { return ::unlinkat(folder.get(), temporary.c_str(), 0) == 0; }
};

Descriptor open_temporary(const Destination& destination) {
  destination.remove_temporary();
  return Descriptor(::openat(destination.folder.get(), destination.temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
}

bool write_all(int fd, const std::string& content) {
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t written = ::write(fd, content.data() + done, content.size() - done);
    if (written >= 0)
      done += static_cast<std::size_t>(written);
    else if (errno != EINTR)
      return false;
  }
  return true;
}

// Ignores that pipes and devices cannot be synchronized.
bool synchronize(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == EROFS; }

bool copy_owner_and_mode(int fd, const struct stat& from) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return false;
  const bool same_owner = now.st_uid == from.st_uid && now.st_gid == from.st_gid;
  return (same_owner || ::fchown(fd, from.st_uid, from.st_gid) == 0) &&
         ::fchmod(fd, from.st_mode & 07777) == 0;
}

// replaced: the status of the old file, or nullptr if there is none.
bool replace(const Destination& destination, const std::string& content,
             const struct stat* replaced) {
  Descriptor file = open_temporary(destination);
  if (!file) return false;
  const bool done = (!replaced || copy_owner_and_mode(file.get(), *replaced)) &&
                    write_all(file.get(), content) && synchronize(file.get()) &&
                    ::renameat(destination.folder.get(), destination.temporary.c_str(),
                               destination.folder.get(), destination.name.c_str()) == 0;
  if (!done) {
    const int error = errno;
    destination.remove_temporary();
    errno = error;
    return false;
  }
  if (const Descriptor folder(::open(destination.folder_path.c_str(), O_RDONLY | O_CLOEXEC));
      folder)
    synchronize(folder.get());
  return file.close();
}

// Reserves the space first, so that the old content is not lost if the disk is full.
bool overwrite(const std::string& file, const std::string& content) {
  Descriptor fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return false;
  const auto size = static_cast<off_t>(content.size());
  if (S_ISREG(status.st_mode)) {
    if (size > status.st_size && ::fallocate(fd.get(), 0, 0, size) != 0 && errno != EOPNOTSUPP) {
      const int error = errno;
      if (::ftruncate(fd.get(), status.st_size) == 0) errno = error;
      return false;
    }
  }
  if (!write_all(fd.get(), content)) return false;
  if (S_ISREG(status.st_mode) && ::ftruncate(fd.get(), size) != 0) return false;
  return synchronize(fd.get()) && fd.close();
}

// The stream that is redirected to this file, or -1. Writing to that stream puts the content after
// what the program has printed.
int stream_of(const std::string& file) {
  const auto identity = identity_of(file);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (identity && identity == identity_of(stream)) return stream;
  }
  return -1;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), file_(resolve_links(path_)) {
  struct stat status {};
  const bool exists = ::stat(file_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path_, EISDIR);
  if (exists && ::access(file_.c_str(), W_OK) != 0) cannot_write(path_, errno);
  if ((exists && !S_ISREG(status.st_mode)) || stream_of(file_) >= 0) return;
  lock_.emplace(lock_file(file_));
  const Destination destination(file_);
  if (!destination.folder) cannot_write(path_, errno);
  destination.remove_temporary();
  if (exists) return;
  if (!open_temporary(destination)) cannot_write(path_, errno);
  destination.remove_temporary();
}

OutputFile::~OutputFile() = default;

void OutputFile::write(const std::string& content) {
  if (const int stream = stream_of(file_); stream >= 0) {
    std::fflush(nullptr);
    if (!write_all(stream, content)) cannot_write(path_, errno);
    return;
  }
  struct stat status {};
  const bool exists = ::stat(file_.c_str(), &status) == 0;
  if (!exists || (S_ISREG(status.st_mode) && status.st_nlink == 1)) {
    const Destination destination(file_);
    if (replace(destination, content, exists ? &status : nullptr)) return;
    if (!exists || (errno != EPERM && errno != EACCES && errno != EROFS))
      cannot_write(path_, errno);
  }
  if (!overwrite(file_, content)) cannot_write(path_, errno);
}

std::string picture_path(const std::string& pattern, unsigned number) {
  const std::size_t start = pattern.rfind('/') == std::string::npos ? 0 : pattern.rfind('/') + 1;
  const std::size_t first = pattern.find('#', start);
  const std::size_t last = std::min(pattern.find_first_not_of('#', first), pattern.size());
  if (scenes::extension_of(pattern) != ".png" || first == std::string::npos ||
      pattern.find('#', last) != std::string::npos) {
    throw_error(Exit::usage,
                "-o '{}': expected the name of a .png file with one run of #, which "
                "stands for the number of the frame, as in frame_###.png",
                pattern);
  }
  return fmt::format("{}{:0{}}{}", pattern.substr(0, first), number, last - first,
                     pattern.substr(last));
}

}  // namespace heapwood::bench
