// Walks over framed records: the compiled twin of `walk` in index/frames.py.
#pragma once

#include <cstdint>

extern "C" {

// Finds the consecutive records at the beginning of some bytes, up to the first
// record that is damaged or not whole.
//
//   data, size     the bytes
//   stop           position at which the search ends
//   capacity       number of entries for which `starts` and `lengths` have room
//   starts         receives the position of each payload
//   lengths        receives the length of each payload
//
// Returns the number of records. Never reads beyond `size`.
__attribute__((visibility("default"))) int64_t tbdbg_walk(const uint8_t* data, int64_t size, int64_t stop,
                                                          int64_t capacity, int64_t* starts,
                                                          int64_t* lengths);
}
