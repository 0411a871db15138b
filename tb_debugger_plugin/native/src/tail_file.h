// Keeps the newest records of an event file in memory that survives the process.
//
// The memory is a file mapped as shared: when the program is killed, even by SIGKILL,
// the kernel still has its pages. docs/event-format.md describes the layout;
// events/tail.py is the reader.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "bus_guard.h"

namespace tbdbg {

// Bytes [tail, head) of an endless tape, kept modulo the capacity. Not
// thread-safe; the EventFile that owns it holds a mutex.
//
// Order of stores: data before `head`, so that after a kill the bytes in [tail, head)
// are complete.
//
// Another process can change the file, so only the data are read back from it. When
// the file is truncated, or its disk fails, lost() is true and the data are zeros.
class TailFile {
 public:
  enum class Use : uint64_t { kJournal = 0, kRing = 1 };

  TailFile() = default;
  ~TailFile();
  TailFile(const TailFile&) = delete;
  TailFile& operator=(const TailFile&) = delete;

  // Creates the file with room for `capacity` bytes or more. Returns an errno, 0 =
  // success.
  int Create(const std::string& path, Use use, uint64_t capacity);

  // Makes room for at least `capacity` bytes and keeps the data.
  int Grow(uint64_t capacity) { return Replace(use_, std::max(capacity, capacity_ * 2)); }
  // Changes the use of an empty file, and makes room for at least `capacity` bytes.
  int TurnInto(Use use, uint64_t capacity) { return Replace(use, capacity); }

  // Appends `size` bytes, which must fit into free(): `write(out)` writes them to `out`.
  template <typename Write>
  void Append(uint64_t size, Write write) {
    const uint64_t begin = PositionOf(head_);
    if (begin + size <= capacity_) {
      write(data_ + begin);
    } else {
      wrapped_.resize(size);
      write(&wrapped_[0]);
      std::memcpy(data_ + begin, wrapped_.data(), capacity_ - begin);
      std::memcpy(data_, wrapped_.data() + (capacity_ - begin), begin + size - capacity_);
    }
    std::atomic_thread_fence(std::memory_order_release);
    header_->head = head_ += size;
  }
  // Drops the record of `size` bytes at the front, and counts it.
  void Drop(uint64_t size);
  // Drops all records, because the event file, which now has `file_size` bytes, holds
  // them.
  void Drained(uint64_t file_size);
  // Copies `size` bytes, `offset` after the front.
  void Copy(uint64_t offset, uint64_t size, void* out) const;

  uint64_t size() const { return head_ - tail_; }
  uint64_t free() const { return capacity_ - size(); }
  bool is_open() const { return header_ != nullptr; }
  bool lost() const { return guard_.lost(); }

  // The bytes in at most two pieces.
  struct Pieces {
    const char* first;
    uint64_t first_size;
    const char* second;
    uint64_t second_size;
  };
  Pieces pieces() const;

  // Unmaps and deletes the file.
  void Remove();
  // Unmaps the file and keeps it, for the process that writes it (after a fork).
  void Abandon();

 private:
  struct Header {
    char magic[8];
    uint64_t capacity;
    uint64_t use;
    volatile uint64_t head;
    volatile uint64_t tail;
    volatile uint64_t file_size;
    volatile uint64_t dropped;
  };

  // A rename replaces the old file by the new one, so there is a complete file at any
  // time.
  int Replace(Use use, uint64_t capacity);

  // The position of a byte of the tape. The capacity is a power of two.
  uint64_t PositionOf(uint64_t counter) const { return counter & (capacity_ - 1); }

  std::string path_;
  Header* header_ = nullptr;
  char* data_ = nullptr;
  // The values in the header.
  Use use_ = Use::kJournal;
  uint64_t capacity_ = 0, head_ = 0, tail_ = 0, file_size_ = 0, dropped_ = 0;
  BusGuard guard_;
  std::string wrapped_;  // a record that wraps around to the beginning of the data
};

}  // namespace tbdbg
