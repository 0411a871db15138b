#include "tail_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tbdbg {
namespace {

constexpr uint64_t kHeaderSize = 4096;
uint64_t NextPowerOfTwo(uint64_t number) {
  uint64_t power = 1;
  while (power < number) power *= 2;
  return power;
}

constexpr char kMagic[8] = {'T', 'B', 'D', 'B', 'G', 'T', '1', '\n'};

// Gives an empty file `size` bytes and allocates blocks for them. Returns an errno, 0 =
// success.
int Allocate(int fd, off_t size) {
#if defined(__APPLE__)
  // If a file system cannot allocate blocks, the guard keeps the program alive.
  fstore_t blocks = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, size, 0};
  if (fcntl(fd, F_PREALLOCATE, &blocks) != 0 && errno != ENOTSUP) return errno;
  return ftruncate(fd, size) == 0 ? 0 : errno;
#else
  return posix_fallocate(fd, 0, size);
#endif
}

// Creates a file of `size` bytes and maps it. Returns an errno, 0 = success; a failure
// leaves no file.
int MapFile(const std::string& path, uint64_t size, void** map) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  // Blocks are allocated now: on a full disk this call fails; without it, a later store
  // into a hole of the mapping would kill the program.
  int error = Allocate(fd, static_cast<off_t>(size));
  if (error == 0) {
    *map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*map == MAP_FAILED) error = errno;
  }
  close(fd);
  if (error != 0) unlink(path.c_str());
  return error;
}

}  // namespace

TailFile::~TailFile() { Abandon(); }

int TailFile::Create(const std::string& path, Use use, uint64_t capacity) {
  capacity = NextPowerOfTwo(capacity);
  void* map = nullptr;
  const int error = MapFile(path, kHeaderSize + capacity, &map);
  if (error != 0) return error;
  guard_.Begin(map, kHeaderSize + capacity);
  path_ = path;
  header_ = static_cast<Header*>(map);
  data_ = static_cast<char*>(map) + kHeaderSize;
  header_->capacity = capacity_ = capacity;
  use_ = use;
  header_->use = static_cast<uint64_t>(use);
  head_ = tail_ = file_size_ = dropped_ = 0;
  header_->head = header_->tail = header_->file_size = header_->dropped = 0;
  std::memcpy(header_->magic, kMagic, sizeof(kMagic));
  return 0;
}

int TailFile::Replace(Use use, uint64_t capacity) {
  TailFile larger;
  const int error = larger.Create(path_ + ".new", use, capacity);
  if (error != 0) return error;
  const Pieces bytes = pieces();
  larger.header_->file_size = file_size_;
  larger.header_->dropped = dropped_;
  larger.Append(size(), [&](char* out) {
    std::memcpy(out, bytes.first, bytes.first_size);
    std::memcpy(out + bytes.first_size, bytes.second, bytes.second_size);
  });
  if (lost() || larger.lost()) return EIO;
  if (rename(larger.path_.c_str(), path_.c_str()) != 0) {
    const int rename_error = errno;
    larger.Remove();
    return rename_error;
  }
  guard_.End();
  munmap(header_, kHeaderSize + capacity_);
  header_ = larger.header_;
  data_ = larger.data_;
  use_ = use;
  capacity_ = larger.capacity_;
  head_ = larger.head_;
  tail_ = larger.tail_;
  guard_.Begin(header_, kHeaderSize + capacity_);
  larger.header_ = nullptr;
  return 0;
}

void TailFile::Drop(uint64_t size) {
  header_->dropped = ++dropped_;
  header_->tail = tail_ += size;
  // These bytes may be overwritten only after these stores.
  std::atomic_thread_fence(std::memory_order_release);
}

void TailFile::Drained(uint64_t file_size) {
  // A reader skips the records that the event file has beyond file_size. A kill between
  // these two stores loses no record and doubles none: with tail == head there is none
  // to skip.
  header_->tail = tail_ = head_;
  std::atomic_thread_fence(std::memory_order_release);
  header_->file_size = file_size_ = file_size;
}

void TailFile::Copy(uint64_t offset, uint64_t size, void* out) const {
  const uint64_t begin = PositionOf(tail_ + offset);
  const uint64_t first = std::min(size, capacity_ - begin);
  std::memcpy(out, data_ + begin, first);
  std::memcpy(static_cast<char*>(out) + first, data_, size - first);
}

TailFile::Pieces TailFile::pieces() const {
  const uint64_t begin = PositionOf(tail_);
  const uint64_t first = std::min(size(), capacity_ - begin);
  return {data_ + begin, first, data_, size() - first};
}

void TailFile::Remove() {
  if (!is_open()) return;
  unlink(path_.c_str());
  Abandon();
}

void TailFile::Abandon() {
  if (!is_open()) return;
  guard_.End();
  munmap(header_, kHeaderSize + capacity_);
  header_ = nullptr;
}

}  // namespace tbdbg
