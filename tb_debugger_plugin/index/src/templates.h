// Recognises records that match a template: the compiled twin of
// `NumpyTemplates` in index/templates.py.
//
// A template is a record without its time (bytes 1 to 8), without its step and without
// its numbers (bytes `begin` to `end`). A record matches a template when it has the same
// length and all its other bytes are equal. Its step, if it has one after the time, is a
// varint of five bytes, whatever the number: see docs/event-format.md.
#pragma once

#include <cstdint>
#include <vector>

namespace tbdbg {

class Templates {
 public:
  // `seed` is secret: a file must not be able to give all records one hash.
  explicit Templates(uint64_t seed) : seed_(seed), factor_(seed | 1) {}

  // Adds a template, with 9 <= begin <= end <= length; returns its number, from 0.
  int32_t Add(const uint8_t* record, int64_t length, int64_t begin, int64_t end);

  // Returns the number of the template that a record matches; -1 = none.
  int32_t Find(const uint8_t* record, int64_t length) const;

  // The same for a record that comes after one that matched `before`; -1 = none did.
  // Programs repeat their steps, so what followed last time is looked at first: this
  // needs no hash.
  int32_t FindAfter(int32_t before, const uint8_t* record, int64_t length);

  // Step of a record that matches a template; 0 when it has none.
  int32_t Step(int32_t number, const uint8_t* record) const;

  // Position of the first number of a template, and how many numbers it has.
  int64_t Begin(int32_t number) const { return entries_[number].layout.begin; }
  int64_t Width(int32_t number) const {
    return (entries_[number].layout.end - entries_[number].layout.begin) / 8;
  }

 private:
  struct Layout {
    // `stamp_end`: where the time, and the step if there is one, end.
    int64_t stamp_end, begin, end;
    bool operator==(const Layout& other) const {
      return stamp_end == other.stamp_end && begin == other.begin && end == other.end;
    }
  };
  struct Entry {
    uint64_t hash;
    int64_t offset, length;
    Layout layout;
    // What last followed a record like this one; -1 = not known.
    int32_t next;
  };

  bool IsLike(const Entry& entry, const uint8_t* record, int64_t length) const;

  uint64_t Hash(const uint8_t* record, int64_t length, Layout layout) const;
  void Put(uint64_t hash, int32_t number);

  uint64_t seed_, factor_;
  std::vector<Entry> entries_;
  // The records of the entries, one after the other.
  std::vector<uint8_t> bytes_;
  // The layouts of the templates of each length.
  std::vector<std::vector<Layout>> layouts_;
  // Hash table: numbers of entries, at the next free index; -1 = free. At most half
  // full.
  std::vector<int32_t> buckets_;
};

}  // namespace tbdbg

extern "C" {

#define TBDBG_EXPORT __attribute__((visibility("default")))

// Creates templates, which live until they are deleted.
TBDBG_EXPORT tbdbg::Templates* tbdbg_templates_new(uint64_t seed);
TBDBG_EXPORT void tbdbg_templates_delete(tbdbg::Templates* templates);

TBDBG_EXPORT int32_t tbdbg_templates_add(tbdbg::Templates* templates, const uint8_t* record, int64_t length,
                                         int64_t begin, int64_t end);
TBDBG_EXPORT int32_t tbdbg_templates_find(const tbdbg::Templates* templates, const uint8_t* record,
                                          int64_t length);

// Finds many records at once.
//
//   data              bytes
//   starts, lengths   position and length of each of `count` records in them
//   matches           receives the number of each record's template; -1 = none
//   times             receives the time of each record
//   steps             receives the step of each record; 0 = it has none
//   numbers           receives the numbers of each record: the first numbers of
//                     all records, then the second ones, up to the number of
//                     numbers in the widest template
//
// The time, the step and the numbers of a record that matches no template are not written.
TBDBG_EXPORT void tbdbg_templates_match(tbdbg::Templates* templates, const uint8_t* data,
                                        const int64_t* starts, const int64_t* lengths, int64_t count,
                                        int32_t* matches, double* times, int32_t* steps, double* numbers);
}
