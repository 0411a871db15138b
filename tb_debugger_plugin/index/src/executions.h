// Decodes executions whose bytes are plain: the compiled twin of `parse_executions`
// in index/executions.py.
//
// A record is plain when it is what recorders write: each field at most once, ASCII
// texts, packed lists, and summaries that are vectors of float64. Other
// records are left to the twin. What the numbers of texts stand for is asked once for
// each text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tbdbg {

// Some bytes of a record.
struct Span {
  const uint8_t* at;
  int64_t size;
};

// Numbers different texts from 0, in the order in which they come.
class Texts {
 public:
  explicit Texts(uint64_t seed) : seed_(seed), factor_(seed | 1) {}

  int32_t Number(Span text);
  Span Text(int32_t number) const;
  int64_t Count() const { return static_cast<int64_t>(entries_.size()); }

 private:
  struct Entry {
    uint64_t hash;
    int64_t offset, size;
  };

  void Grow();

  uint64_t seed_, factor_;
  std::vector<Entry> entries_;
  std::vector<uint8_t> bytes_;
  // Hash table: numbers of entries, at the next free index; -1 = free. At most half
  // full.
  std::vector<int32_t> buckets_;
};

class Executions {
 public:
  // How many numbers the columns of the last records have, in the order of `Copy`.
  struct Sizes {
    int64_t rows, inputs, outputs;
    // How many different op types, graphs and stacks there were until now.
    int64_t texts[3];
  };

  // `widths`: for each mode from 0, how many numbers a summary has; -1 = its values
  // are not summaries.
  Executions(uint64_t seed, const int32_t* widths, int32_t num_modes)
      : texts_{Texts(seed), Texts(seed), Texts(seed)}, widths_(widths, widths + num_modes) {}

  // Decodes the plain ones of some records. `is_plain` receives which those are.
  Sizes Decode(const uint8_t* data, const int64_t* starts, const int64_t* lengths, int64_t count,
               uint8_t* is_plain);

  // Columns of the records that were decoded last.
  struct Rows {
    std::vector<double> times;
    // Numbers of texts: op type, graph and stack; -1 = no graph, or no stack. The
    // others are the numbers of the record.
    std::vector<int32_t> op_types, graphs, stacks, steps, threads, modes, num_outputs, num_inputs, num_values,
        num_slots;
  };
  struct Outputs {
    std::vector<int64_t> ids;
    std::vector<int64_t> devices;
    // Where the summary begins in the data; -1 = the output is not watched, -2 = the
    // record has no value for it.
    std::vector<int64_t> summaries;
    std::vector<uint8_t> has_id;
  };

  const Rows& rows() const { return rows_; }
  const std::vector<int64_t>& inputs() const { return inputs_; }
  const Outputs& outputs() const { return outputs_; }
  const Texts& texts(int kind) const { return texts_[kind]; }

 private:
  struct Record;

  bool Parse(Span event, const uint8_t* data, Record* record) const;
  bool FindSummaries(const uint8_t* data, Record* record) const;
  void Add(const Record& record);

  Texts texts_[3];
  std::vector<int32_t> widths_;
  Rows rows_;
  std::vector<int64_t> inputs_;
  Outputs outputs_;
};

}  // namespace tbdbg

extern "C" {

#define TBDBG_EXPORT __attribute__((visibility("default")))

// Creates a decoder, which lives until it is deleted; arguments as for `Executions`.
TBDBG_EXPORT tbdbg::Executions* tbdbg_executions_new(uint64_t seed, const int32_t* widths, int32_t num_modes);
TBDBG_EXPORT void tbdbg_executions_delete(tbdbg::Executions* executions);

// Decodes the plain ones of `count` records in `data`. `is_plain` has room for
// `count`; `sizes` receives the six numbers of `Executions::Sizes`.
TBDBG_EXPORT void tbdbg_executions_decode(tbdbg::Executions* executions, const uint8_t* data,
                                          const int64_t* starts, const int64_t* lengths, int64_t count,
                                          uint8_t* is_plain, int64_t* sizes);

// Copies the columns of the records that were decoded last.
//
//   times       `sizes.rows` times
//   rows        ten columns of `sizes.rows` numbers, as in `Executions::Rows`
//   inputs      `sizes.inputs` ids
//   outputs     three columns of `sizes.outputs` numbers: ids, devices, summaries
//   has_id      `sizes.outputs` flags
TBDBG_EXPORT void tbdbg_executions_copy(const tbdbg::Executions* executions, double* times, int32_t* rows,
                                        int64_t* inputs, int64_t* outputs, uint8_t* has_id);

// Returns where a text is until the next call of `tbdbg_executions_decode`. Kinds:
// 0 = op type, 1 = graph, 2 = stack, which is a serialised `CodeLocation`.
TBDBG_EXPORT const uint8_t* tbdbg_executions_text(const tbdbg::Executions* executions, int32_t kind,
                                                  int32_t number, int64_t* size);

// Copies vectors of `width` float64 that begin at `begins` in `data`: the first number
// of all vectors, then the second ones.
TBDBG_EXPORT void tbdbg_gather(const uint8_t* data, const int64_t* begins, int64_t count, int64_t width,
                               double* numbers);
}
