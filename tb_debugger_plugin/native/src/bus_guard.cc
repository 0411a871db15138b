#include "bus_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace tbdbg {

struct GuardedRange {
  std::atomic<bool> taken{false};
  std::atomic<char*> start{nullptr};  // null while nothing is guarded
  std::atomic<size_t> size{0};
  std::atomic<bool> lost{false};
};

namespace {

// A recording has two ranges, and a third one while a tail file grows.
GuardedRange ranges[64];

std::mutex handler_mutex;
// handler_mutex guards the variables below. Our handler reads `before` without it;
// `before` is set before the handler is installed.
int users = 0;
struct sigaction before;
// True when another handler was installed after ours. It may call ours, so ours
// stays for ever and is not installed again: otherwise the two could call each
// other without end.
bool buried = false;

GuardedRange* RangeAt(const void* address) {
  const char* byte = static_cast<const char*>(address);
  for (GuardedRange& range : ranges) {
    const char* start = range.start.load(std::memory_order_acquire);
    if (start != nullptr && byte >= start && byte < start + range.size.load()) return &range;
  }
  return nullptr;
}

// Calls only functions that are allowed in a signal handler: system calls, lock-free
// atomics.
void OnBusError(int number, siginfo_t* info, void* context) {
  const int error = errno;
  // Above 0 the kernel reports an access; else a process sent the signal.
  GuardedRange* range = info->si_code > 0 ? RangeAt(info->si_addr) : nullptr;
  if (range != nullptr) {
    void* map = mmap(range->start.load(), range->size.load(), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    range->lost = true;
    errno = error;
    if (map != MAP_FAILED) return;  // The processor repeats the access.
  }
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    signal(number, SIG_DFL);
    raise(number);  // is delivered when this handler has returned
  } else {
    before.sa_handler(number);
  }
  errno = error;
}

bool HandlerIsOurs() {
  struct sigaction now;
  return sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
         now.sa_sigaction == OnBusError;
}

// Gives up after a while: a forked child may inherit a locked mutex, which is never
// unlocked there.
bool LockSoon(std::mutex* mutex) {
  for (int i = 0; i < 1000; ++i) {
    if (mutex->try_lock()) return true;
    usleep(100);
  }
  return false;
}

void CountUsers(int more) {
  if (!LockSoon(&handler_mutex)) return;
  std::lock_guard<std::mutex> lock(handler_mutex, std::adopt_lock);
  users += more;
  if (more > 0 && users == 1 && !buried) {
    struct sigaction ours = {};
    ours.sa_sigaction = OnBusError;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, nullptr, &before) == 0) sigaction(SIGBUS, &ours, nullptr);
  } else if (users == 0 && !buried) {
    if (HandlerIsOurs()) {
      sigaction(SIGBUS, &before, nullptr);
    } else {
      buried = true;
    }
  }
}

}  // namespace

void BusGuard::Begin(void* start, size_t size) {
  End();
  for (GuardedRange& range : ranges) {
    if (range.taken.exchange(true)) continue;
    range_ = &range;
    range.lost = false;
    range.size = size;
    CountUsers(1);
    range.start.store(static_cast<char*>(start), std::memory_order_release);
    return;
  }
}

void BusGuard::End() {
  if (range_ == nullptr) return;
  range_->start = nullptr;
  CountUsers(-1);
  range_->taken = false;
  range_ = nullptr;
}

bool BusGuard::lost() const { return range_ != nullptr && range_->lost.load(std::memory_order_relaxed); }

}  // namespace tbdbg
