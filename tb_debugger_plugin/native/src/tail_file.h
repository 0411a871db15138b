// The newest records of an event file, in memory that survives the process.
//
// A file mapped shared: when the program is killed, even by SIGKILL, the kernel
// still has the pages. docs/event-format.md has the layout; events/tail.py is
// the reader.
#pragma once

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
// Order of stores: data before `head`, so that whoever reads the file after a
// kill finds whole bytes in [tail, head).
//
// Others can do to a file what they like, so nothing but the data is read back
// from it: when it is cut, or its disk fails, lost() is true, and the data are
// zeros.
class TailFile {
 public:
  enum class Use : uint64_t { kJournal = 0, kRing = 1 };

  TailFile() = default;
  ~TailFile();
  TailFile(const TailFile&) = delete;
  TailFile& operator=(const TailFile&) = delete;

  // Creates the file with room for `capacity` bytes or more. Returns an errno, 0 = good.
  int Create(const std::string& path, Use use, uint64_t capacity);

  // Makes room for at least `capacity` bytes and keeps what is there. The new
  // file replaces the old one by a rename, so there is a whole one at any time.
  int Grow(uint64_t capacity);

  // Appends `size` bytes, which must fit into free(): `write(out)` writes them to `out`.
  template <typename Write>
  void Append(uint64_t size, Write write) {
    const uint64_t at = At(head_);
    if (at + size <= capacity_) {
      write(data_ + at);
    } else {
      across_.resize(size);
      write(&across_[0]);
      std::memcpy(data_ + at, across_.data(), capacity_ - at);
      std::memcpy(data_, across_.data() + (capacity_ - at), at + size - capacity_);
    }
    std::atomic_thread_fence(std::memory_order_release);
    header_->head = head_ += size;
  }
  // Drops the record of `size` bytes at the front, and counts it.
  void Drop(uint64_t size);
  // Drops everything, because the event file, now `file_size` long, has it.
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
  // Unmaps, and leaves the file to its owner (after a fork).
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

  // Where a byte of the tape stands. The capacity is a power of two.
  uint64_t At(uint64_t counter) const { return counter & (capacity_ - 1); }

  std::string path_;
  Header* header_ = nullptr;
  char* data_ = nullptr;
  // What the header says.
  Use use_ = Use::kJournal;
  uint64_t capacity_ = 0, head_ = 0, tail_ = 0, file_size_ = 0, dropped_ = 0;
  BusGuard guard_;
  std::string across_;  // a record that has its end where the file begins
};

}  // namespace tbdbg
