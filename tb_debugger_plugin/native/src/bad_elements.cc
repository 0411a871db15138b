#include "bad_elements.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "framing.h"

namespace tbdbg {
namespace {

// Replaces the only dim below 0 by the one that gives `size` elements. False if there is none.
bool Complete(int64_t size, std::vector<int64_t>* dims) {
  int64_t known = 1;
  auto unknown = dims->end();
  for (auto dim = dims->begin(); dim != dims->end(); ++dim) {
    if (*dim >= 0) {
      known *= *dim;
    } else if (unknown != dims->end()) {
      return false;
    } else {
      unknown = dim;
    }
  }
  if (unknown != dims->end()) *unknown = known > 0 ? size / known : 0;
  return known * (unknown == dims->end() ? 1 : *unknown) == size;
}

}  // namespace

BadElement FindBadElement(const TensorView& tensor, const std::vector<int64_t>* dims) {
  BadElement found;
  found.at = FindBad(tensor.data, tensor.num_elements, tensor.dtype);
  found.dims = dims != nullptr ? *dims : std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank);
  found.has_shape = Complete(tensor.num_elements, &found.dims);
  return found;
}

void BadElements::Open(int file) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (file >= 0) file_ = fcntl(file, F_DUPFD_CLOEXEC, 0);
}

bool BadElements::Wants(std::string_view prefix, int slot, Bad bad) {
  if (bad == Bad::kNo) return false;
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::string key(prefix);
  if (slot > 0) key.append(reinterpret_cast<const char*>(&slot), sizeof(slot));
  return ops_.Judge(key, bad, 0, kNever) != News::kNone;
}

std::string BadElements::Write(const Stamp& stamp, std::string_view prefix, int slot,
                               const BadElement& found) {
  if (!found.is_known()) return "";
  std::string record(kHeadSize, 0);
  EncodeBadElement(stamp, prefix, slot, found, &record);
  Frame(&record);
  std::lock_guard<std::mutex> lock(mutex_);
  if (file_ < 0 || written_ >= kMost) return "";
  ++written_;
  for (size_t begin = 0; begin < record.size();) {
    const ssize_t size = write(file_, record.data() + begin, record.size() - begin);
    if (size < 0 && errno != EINTR) return std::string("cannot write .graphs: ") + std::strerror(errno);
    begin += static_cast<size_t>(std::max<ssize_t>(size, 0));
  }
  return "";
}

void BadElements::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (file_ >= 0) close(file_);
  file_ = -1;
}

}  // namespace tbdbg
