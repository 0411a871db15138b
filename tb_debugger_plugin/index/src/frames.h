// Walks over framed records: the compiled twin of `walk` in index/frames.py.
#pragma once

#include <cstdint>

extern "C" {

// Finds the records that stand at the beginning of some bytes, one behind the
// other, up to the first one that is damaged or not whole.
//
//   data, size     the bytes
//   stop           no record is looked for from here on
//   capacity       how many entries `starts` and `lengths` have room for
//   starts         receives where each payload begins
//   lengths        receives how long each payload is
//
// Returns how many records there are. Never reads beyond `size`.
__attribute__((visibility("default"))) int64_t tbdbg_walk(const uint8_t* data, int64_t size, int64_t stop,
                                                          int64_t capacity, int64_t* starts,
                                                          int64_t* lengths);
}
