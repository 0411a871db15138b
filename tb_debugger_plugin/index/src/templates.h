// Recognises records that are like one seen before: the compiled twin of
// `NumpyTemplates` in index/templates.py.
//
// A template is a record without its time, which is bytes 1 to 8, and without its
// numbers, which are bytes `begin` to `end`. A record is like a template when it is
// as long and all its other bytes are the same.
#pragma once

#include <cstdint>
#include <vector>

namespace tbdbg {

class Templates {
 public:
  // `seed` is secret: a file must not be able to give all records one hash.
  explicit Templates(uint64_t seed) : seed_(seed), factor_(seed | 1) {}

  // Adds a template, 9 <= begin <= end <= length; returns its number, from 0.
  int32_t Add(const uint8_t* record, int64_t length, int64_t begin, int64_t end);

  // The number of the template that a record is like; -1 = none.
  int32_t Find(const uint8_t* record, int64_t length) const;

  // Where the numbers of a template begin, and how many there are.
  int64_t Begin(int32_t number) const { return entries_[number].layout.begin; }
  int64_t Width(int32_t number) const {
    return (entries_[number].layout.end - entries_[number].layout.begin) / 8;
  }

 private:
  struct Layout {
    int64_t begin, end;
    bool operator==(const Layout& other) const { return begin == other.begin && end == other.end; }
  };
  struct Entry {
    uint64_t hash;
    int64_t offset, length;
    Layout layout;
  };

  uint64_t Hash(const uint8_t* record, int64_t length, Layout layout) const;
  void Put(uint64_t hash, int32_t number);

  uint64_t seed_, factor_;
  std::vector<Entry> entries_;
  // The records of the entries, one after the other.
  std::vector<uint8_t> bytes_;
  // The layouts that there are of each length.
  std::vector<std::vector<Layout>> layouts_;
  // Numbers of entries by hash, at the next free place; -1 = free. At most half full.
  std::vector<int32_t> places_;
};

}  // namespace tbdbg

extern "C" {

#define TBDBG_EXPORT __attribute__((visibility("default")))

// Templates that live until they are deleted.
TBDBG_EXPORT tbdbg::Templates* tbdbg_templates_new(uint64_t seed);
TBDBG_EXPORT void tbdbg_templates_delete(tbdbg::Templates* templates);

TBDBG_EXPORT int32_t tbdbg_templates_add(tbdbg::Templates* templates, const uint8_t* record, int64_t length,
                                         int64_t begin, int64_t end);
TBDBG_EXPORT int32_t tbdbg_templates_find(const tbdbg::Templates* templates, const uint8_t* record,
                                          int64_t length);

// Finds many records at once.
//
//   data              bytes
//   starts, lengths   where each of `count` records stands in them
//   found             receives the number of its template; -1 = none
//   times             receives its time
//   numbers           receives its numbers: the first ones of all records, then
//                     the second ones, as many as the widest template has
//
// What is received of a record that is like no template is left as it was.
TBDBG_EXPORT void tbdbg_templates_match(const tbdbg::Templates* templates, const uint8_t* data,
                                        const int64_t* starts, const int64_t* lengths, int64_t count,
                                        int32_t* found, double* times, double* numbers);
}
