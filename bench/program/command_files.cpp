// SPDX-License-Identifier: MIT
#include "bench/program/command_files.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include "bench/program/messages.hpp"
#include "scenes/file.hpp"

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

std::optional<FileIdentity> stored_file(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, ""};
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

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return stored_file(status);
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return stored_file(status);
  const std::filesystem::path file(resolve_links(path));
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  if (!file.has_filename()) return std::nullopt;
  std::error_code ignored;
  if (::stat(folder.c_str(), &status) != 0)
    return FileIdentity{0, 0, std::filesystem::weakly_canonical(file, ignored).string()};
  return FileIdentity{status.st_dev, status.st_ino, file.filename().string()};
}

std::string resolve_links(const std::string& path) {
  constexpr int max_links = 40;  // limit of the Linux kernel
  std::filesystem::path followed_path(path);
  char target[PATH_MAX];
  for (int links = 0; links < max_links; ++links) {
    const ssize_t length = ::readlink(followed_path.c_str(), target, sizeof(target));
    if (length < 0) break;
    followed_path =
        followed_path.parent_path() / std::string(target, static_cast<std::size_t>(length));
  }
  struct stat followed {
  }, resolved{};
  const bool exists = ::stat(path.c_str(), &followed) == 0;
  const bool names_it = ::stat(followed_path.c_str(), &resolved) == 0 &&
                        followed.st_dev == resolved.st_dev && followed.st_ino == resolved.st_ino;
  return exists && !names_it ? path : followed_path.string();
}

std::optional<std::string> read_text(const std::string& path, Exit exit) {
  std::error_code ignored;
  if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found)
    return std::nullopt;
  try {
    return std::string(scenes::read_file(path).text());
  } catch (const Error& error) {
    throw Error(exit, error.what());
  }
}

namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw_error(Exit::usage, "{}: already used in this command; choose another file", path);
}

bool has_existing_output(const std::vector<std::string>& written) {
  std::error_code ignored;
  return identity_of(STDOUT_FILENO) || identity_of(STDERR_FILENO) ||
         std::ranges::any_of(written, [&](const std::string& path) {
           return std::filesystem::is_regular_file(path, ignored);
         });
}

}  // namespace

void CommandFiles::writes_picture(const std::string& path) {
  if (path == "-")
    throw Error(Exit::usage, "'-' is not a file; pictures are not written to standard output");
  writes(path);
}

void CommandFiles::check() const {
  std::set<FileIdentity> inputs, outputs;
  const auto add_input = [&](const std::string& path) {
    if (const auto file = identity_of(path)) inputs.insert(*file);
  };
  for (const std::string& path : read_) add_input(path);
  if (has_existing_output(written_)) {
    for (const auto& list : lists_) std::ranges::for_each(list(), add_input);
  }
  for (const std::string& path : written_) {
    if (path == "-")
      throw Error(Exit::usage, "'-' is not a file; for standard output use /dev/stdout");
    const auto file = identity_of(path);
    if (file && (inputs.contains(*file) || !outputs.insert(*file).second)) refuse(path);
    // Material files count too, although not every command reads them.
    const std::string extension = scenes::extension_of(path);
    std::error_code ignored;
    if ((scenes::is_readable(extension) || extension == ".mtl") &&
        std::filesystem::is_regular_file(path, ignored))
      throw_error(Exit::usage, "{}: is a file of a scene; choose another file", path);
  }
  // A file that is read must not be one to which the shell has redirected an output stream.
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    const auto file = identity_of(stream);
    if (file && inputs.contains(*file))
      refuse(stream == STDOUT_FILENO ? "standard output" : "standard error");
  }
}

}  // namespace heapwood::bench
