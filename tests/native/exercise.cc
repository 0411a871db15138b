// Runs every part of the native library that needs no TensorFlow, from several
// threads, and checks the results. `make test-sanitize` builds it with sanitizers.
// Argument: an empty folder.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bad_tensors.h"
#include "check.h"
#include "crc32c.h"
#include "earlier_calls.h"
#include "encode.h"
#include "exercise_gate.h"
#include "framing.h"
#include "keep.h"
#include "recorder.h"
#include "static_shape.h"
#include "summary.h"
#include "watches.h"

namespace {

using namespace tbdbg;

constexpr int kThreads = 4, kRecordsPerThread = 3000;

TensorView ViewOf(const std::vector<char>& bytes, size_t offset, int dtype, int64_t* dims) {
  const int64_t element = MeasuredBytes(dtype);
  TensorView view;
  view.data = bytes.data() + offset;
  view.num_elements = dims[0] = static_cast<int64_t>(bytes.size() - offset) / element;
  view.byte_size = static_cast<size_t>(view.num_elements * element);
  view.dtype = dtype;
  view.rank = 1;
  view.dims = dims;
  return view;
}

// Counts the bad elements, and checks that each element counts once.
int64_t CountBad(const TensorView& view) {
  const Counts counts = CountKinds(view.data, view.num_elements, view.dtype);
  const int64_t bad = counts.neg_inf + counts.pos_inf + counts.nan;
  CHECK(bad + counts.negative + counts.zero + counts.positive == view.num_elements);
  CHECK(HasInfOrNan(view.data, view.num_elements, view.dtype) == (bad > 0));
  const BadPositions at = FindBad(view.data, view.num_elements, view.dtype);
  CHECK((at.first >= 0) == (bad > 0) && (at.first_nan >= 0) == (counts.nan > 0));
  return bad;
}

// Summarizes in each mode. The mean lies between minimum and maximum, if there are any.
void SummarizeInEachMode(const TensorView& view, int64_t bad) {
  double values[kMaxSummary];
  for (Mode mode : kModes) CHECK(Summarize(view, mode, 1, values) <= kMaxSummary);
  Summarize(view, Mode::kFullNumerics, 1, values);
  const bool is_complex = view.dtype == kComplex64 || view.dtype == kComplex128;
  const bool none = is_complex || bad == view.num_elements;
  const auto value_of = [&](Column column) { return values[IndexOf(Mode::kFullNumerics, column)]; };
  const double min = value_of(Column::kMin), max = value_of(Column::kMax);
  CHECK(none == std::isnan(min));
  CHECK(none || (min <= value_of(Column::kMean) && value_of(Column::kMean) <= max));
}

void EncodeInEachMode(const TensorView& view) {
  for (Mode mode : kModes) {
    for (int64_t limit : {-1, 0, 100}) {
      std::string encoded;
      EncodeSummary(view, mode, 1, limit, &encoded);
      CHECK(mode != Mode::kFullTensor || limit >= 0 || encoded.size() > view.byte_size);
    }
  }
}

// Summarizes bytes of any value, at any address, of any length.
void SummarizeAnything() {
  std::mt19937 random(0);
  for (int dtype : {kFloat, kDouble, kBfloat16, kHalf, kComplex64, kComplex128, kFloat8E5m2, kFloat8E4m3fn}) {
    for (size_t size : {0, 1, 7, 16, 333, 16384, 16397, 40001}) {
      for (size_t offset = 0; offset < 8 && offset <= size; offset += 3) {
        std::vector<char> bytes(size);
        for (char& byte : bytes) byte = static_cast<char>(random());
        int64_t dims[1];
        const TensorView view = ViewOf(bytes, offset, dtype, dims);
        SummarizeInEachMode(view, CountBad(view));
        EncodeInEachMode(view);
      }
    }
  }
}

// Encodes strings of three of TensorFlow's four layouts.
void EncodeStrings() {
  const std::string owned(40, 'o');
  const char* data = owned.data();
  char elements[3][24] = {};
  elements[0][0] = 3 << 2;
  std::memcpy(elements[0] + 1, "abc", 3);
  uint64_t size = owned.size() << 2 | 1;
  std::memcpy(elements[1], &size, 8);
  std::memcpy(elements[1] + 16, &data, 8);
  size = owned.size() << 2 | 3;
  std::memcpy(elements[2], &size, 8);
  std::memcpy(elements[2] + 8, &data, 8);
  const int64_t dims[] = {3};
  const TensorView view{elements, sizeof(elements), kString, 1, 3, dims};
  std::string encoded;
  EncodeSummary(view, Mode::kFullTensor, 1, 83, &encoded);
  CHECK(encoded.find("abc") != std::string::npos && encoded.find(owned) != std::string::npos);
  std::string summary;
  EncodeSummary(view, Mode::kFullTensor, 1, 82, &summary);
  CHECK(summary.find("abc") == std::string::npos);
}

// Makes views of tensors of which all dims are known, or all but one.
void ViewStaticShapes() {
  const char data[96] = {};
  int64_t dims[kMaxRank];
  TensorView view;
  const StaticShape known(kFloat, {2, 3, 4});
  CHECK(known.View(data, 96, dims, &view));
  CHECK(view.num_elements == 24 && view.rank == 3 && view.dims[1] == 3 && view.dtype == kFloat);
  CHECK(StaticShape(kDouble, {-1, 3}).View(data, 96, dims, &view));
  CHECK(view.num_elements == 12 && view.dims[0] == 4 && view.dims[1] == 3 && view.byte_size == 96);
  CHECK(StaticShape(kHalf, {}).View(data, 2, dims, &view) && view.num_elements == 1 && view.rank == 0);
  CHECK(!StaticShape(kFloat, {2, 3}).View(data, 96, dims, &view));
  CHECK(!StaticShape(kFloat, {-1, 5}).View(data, 96, dims, &view));
  CHECK(!StaticShape(kFloat, {-1, -1}).View(data, 96, dims, &view));
  CHECK(!StaticShape(kFloat, {-1, 0}).View(data, 0, dims, &view));
  CHECK(!StaticShape(kString, {4}).View(data, 96, dims, &view));
  CHECK(!StaticShape().View(data, 96, dims, &view));
}

void CompleteShapes() {
  const auto complete = [](int64_t num_elements, std::vector<int64_t> dims) {
    return CompleteShape(num_elements, &dims) ? dims : std::vector<int64_t>{-1};
  };
  using Dims = std::vector<int64_t>;
  const Dims none = {-1};
  CHECK(complete(60, {-1, 12}) == (Dims{5, 12}) && complete(60, {5, 12}) == (Dims{5, 12}));
  CHECK(complete(1, {}) == Dims() && complete(0, {-1, 12}) == (Dims{0, 12}));
  CHECK(complete(60, {5, 11}) == none && complete(60, {-1, 7}) == none);
  CHECK(complete(60, {-1, -1}) == none && complete(0, {-1, 0}) == none);
}

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Without the processor's instruction, which every other test uses. The expected value
// is from RFC 3720, B.4.
void TakeChecksums() {
  const std::string zeros(32, 0);
  CHECK(Crc32c(zeros.data(), zeros.size()) == 0x8a9136aau);
}

// A record that is made of parts equals the one that is encoded as a whole.
void MakeRecordsOfParts() {
  std::mt19937_64 random(0);
  for (size_t size = 0; size < 700; size += 1 + size / 50) {
    std::string prefix(size, 0);
    for (char& byte : prefix) byte = static_cast<char>(random());
    for (Mode mode : {Mode::kCurtHealth, Mode::kFullHealth, Mode::kFullNumerics}) {
      double numbers[kMaxSummary];
      for (double& number : numbers) number = static_cast<double>(random());
      const Stamp stamp{static_cast<double>(random()), StepField(static_cast<int64_t>(random() >> 33))};
      const TraceOfVector trace(prefix, mode, ColumnsOf(mode));
      std::string made(trace.size(), 0), proto, payload;
      trace.Write(stamp, numbers, &made[0]);
      EncodeVector(numbers, ColumnsOf(mode), &proto);
      EncodeTrace(stamp, prefix, mode, proto, &payload);
      const size_t end = kHeadSize + payload.size();
      const uint32_t crc = MaskedCrc32c(payload.data(), payload.size());
      CHECK(made.size() == end + kFootSize && made.compare(kHeadSize, payload.size(), payload) == 0);
      CHECK(std::memcmp(&made[end], &crc, kFootSize) == 0);
    }
  }
}

// Number of records in a file; each of them must be whole.
int64_t RecordsIn(const std::string& path) {
  const std::string bytes = ContentsOf(path);
  int64_t records = 0;
  for (size_t at = 0; at < bytes.size(); ++records) {
    uint64_t size;
    uint32_t head_crc, crc;
    CHECK(at + 12 <= bytes.size());
    std::memcpy(&size, &bytes[at], 8);
    std::memcpy(&head_crc, &bytes[at + 8], 4);
    CHECK(head_crc == MaskedCrc32c(&bytes[at], 8));
    CHECK(at + 16 + size <= bytes.size());
    std::memcpy(&crc, &bytes[at + 12 + size], 4);
    CHECK(crc == MaskedCrc32c(&bytes[at + 12], size));
    at += 16 + size;
  }
  return records;
}

// Records a watched tensor of changing size, its constants and executions, and adds watches.
void RecordWatch(Recorder* recorder, const Watch& watch, char filling) {
  std::vector<char> bytes(4000, filling);
  int64_t dims[1];
  for (int i = 0; i < kRecordsPerThread; ++i) {
    bytes.resize(static_cast<size_t>(i * 37 % 9000), filling);  // up to and above the limit
    watch.constants->RecordOnce(recorder);
    TraceBatch(recorder).Trace(watch.targets, ViewOf(bytes, 0, kHalf, dims));
    const std::string& prefix = watch.targets[0].prefix;
    recorder->Execution(prefix, prefix, i % 1000 == 9 ? Bad::kNan : Bad::kNo);
    if (i % 500 == 0) {
      CHECK(FindWatch(AddWatch({{"other", 8, -1, 0, {}}}, {}, watch.constants, {})) != nullptr);
    }
  }
}

void FlushAndChooseSteps(Recorder* recorder) {
  for (int i = 0; i < 50; ++i) {
    recorder->Flush();
    recorder->SetWanted(recorder->traces() >= 0 && recorder->executions() >= 0);
  }
}

// Closes the recording, and checks that its files hold as many records as were counted.
void CloseAndCount(Recorder* recorder, const std::string& base, int64_t ring) {
  const int64_t seen = recorder->traces();
  recorder->Close();
  CHECK(recorder->failure().empty());
  CHECK(!recorder->on() && recorder->traces() == seen);
  const int64_t traces = RecordsIn(base + ".graph_execution_traces");
  const int64_t executions = RecordsIn(base + ".execution");
  if (ring == 0) CHECK(traces == seen && executions == recorder->executions());
  if (ring > 0) CHECK(traces > ring && executions > ring);  // the first bad ones are pinned
  CHECK(ContentsOf(base + ".execution.tail").empty() && ContentsOf(base + ".session_runs.tail").empty());
}

// Several threads record, and one flushes and chooses steps. `close_early` ends the
// recording while they do.
void RecordFromThreads(const std::string& base, int64_t ring, bool close_early) {
  auto* recorder = new Recorder(Mode::kFullTensor, 2000);  // as in a program: never deleted
  const int graphs = open((base + ".graphs").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  CHECK(recorder->Open(base, ring, graphs).empty());
  close(graphs);
  SetCurrentRecorder(recorder);
  Constants* constants = FindConstants(AddConstants());
  constants->Add("constant", {"value", Mode::kFullTensor, {}});
  Watch* watch = FindWatch(AddWatch({{"prefix", 7, -1, 0, {}}}, {}, constants, {}));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    const char filling = static_cast<char>(thread - 1);  // of thread 0: all NaN
    threads.emplace_back([=] { RecordWatch(recorder, *watch, filling); });
  }
  threads.emplace_back([=] {
    for (int run = 0; run < kRecordsPerThread; ++run) {
      recorder->SessionRun("", run, 1.0);
      if (run % 100 == 0) recorder->AboutSessionRun("");
    }
  });
  threads.emplace_back([=] {
    FlushAndChooseSteps(recorder);
    if (close_early) recorder->Close();
  });
  for (std::thread& thread : threads) thread.join();
  CloseAndCount(recorder, base, ring);
  if (!close_early) CHECK(recorder->traces() == kThreads * kRecordsPerThread + 1);
  // Where the first NaN of the only op is.
  const int64_t elements = RecordsIn(base + ".graphs");
  CHECK(elements == 1 || (close_early && elements == 0));
  SetCurrentRecorder(nullptr);
}

void KeepTheLastOnes(const std::string& base) {
  EventFile file;
  ByteBudget no_limit(0);
  CHECK(file.Open(base, 10, &no_limit).empty());
  // Longer and longer, so that the ring wraps and grows.
  for (int i = 0; i < 1000; ++i) {
    std::string record(kHeadSize + i * i % 70001, 'x');
    CHECK(file.Append(i, &record).empty());
  }
  CHECK(file.appended() == 1000);
  CHECK(file.Close().empty());
  CHECK(RecordsIn(base) == 10);
  std::string late(kHeadSize, 'x');
  CHECK(file.Append(0, &late).empty() && file.Flush().empty() && RecordsIn(base) == 10);
}

void KeepWithinABudget(const std::string& base) {
  constexpr int64_t kMost = 4 << 20;
  ByteBudget budget(kMost);
  EventFile files[2];
  for (int i = 0; i < 2; ++i) CHECK(files[i].Open(base + std::to_string(i), 0, &budget).empty());
  for (int i = 0; i < 50000; ++i) {
    std::string record(kHeadSize + 200 + i % 7, 'x');
    CHECK(files[i % 2].Append(i, &record).empty());
    if (i % 5000 == 0) files[i % 2].Pin(1);
    if (i % 999 == 0) CHECK(files[i % 2].Flush().empty());
  }
  CHECK(budget.IsSpent());
  int64_t size = 0;
  for (int i = 0; i < 2; ++i) {
    CHECK(files[i].limit() > 0 && files[i].Close().empty());
    struct stat status;
    CHECK(stat((base + std::to_string(i)).c_str(), &status) == 0);
    size += status.st_size;
  }
  CHECK(kMost / 4 * 3 <= size && size <= kMost);
}

// The ids of the tensors in a file of traces, in order.
std::vector<int64_t> TensorIdsIn(const std::string& path) {
  const std::string bytes = ContentsOf(path);
  std::vector<int64_t> ids;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size;
    double id;
    std::memcpy(&size, &bytes[at], 8);
    at += 16 + size;
    std::memcpy(&id, &bytes[at - 4 - 11 * sizeof(double)], 8);  // first column of FULL_HEALTH
    ids.push_back(static_cast<int64_t>(id));
  }
  return ids;
}

// One tensor of 5000 is NaN; a later one of the same op is NaN soon after and is not pinned.
void PinTheFirstBadOne(const std::string& base) {
  constexpr int kRing = 100, kCount = 5000, kBad = 1234;
  Recorder recorder(Mode::kFullHealth, -1);
  CHECK(recorder.Open(base, kRing).empty());
  const int64_t dims[] = {1};
  for (int i = 0; i < kCount; ++i) {
    const float value = i == kBad || i == kBad + 1200 ? NAN : 1;
    const TensorView view{&value, sizeof(value), kFloat, 1, 1, dims};
    TraceBatch(&recorder).Trace({{i % 10 == kBad % 10 ? "this op" : "another", double(i), -1, 0, {}}}, view);
    if (i % 10 == 0) recorder.Execution("call", "call", Bad::kNo);
  }
  CHECK(recorder.num_bad() == 2);
  recorder.Close();
  std::vector<int64_t> expected;
  for (int i = 0; i < kCount; ++i) {
    const bool around = i >= kBad - kRing && i <= kBad + kRing / 2;
    if (around || i >= kCount - kRing) expected.push_back(i);
  }
  CHECK(TensorIdsIn(base + ".graph_execution_traces") == expected);
  CHECK(RecordsIn(base + ".execution") == kRing + kRing / 2 + 1 + kRing);
}

// After Discard the recording is as if it began there: constants and pins come again, limits are free.
void DiscardAndGoOn(const std::string& base) {
  const int64_t dims[] = {2};
  const float good[] = {1, 2}, bad[] = {1, NAN};
  Recorder recorder(Mode::kFullHealth, -1, {{false, -1, sizeof(good)}, {false, -1, -1}});
  CHECK(recorder.Open(base, 10).empty());
  recorder.Discard();
  EncodedTensor constant;
  recorder.Encode({good, sizeof(good), kFloat, 1, 2, dims}, 100, 0, &constant);
  Constants constants;
  constants.Add("constant", constant);
  const auto call = [&](uint64_t keep) {
    constants.RecordOnce(&recorder);
    std::vector<TraceTarget> targets = {{"kept", 1, -1, keep, {}}};
    TraceBatch(&recorder).Trace(targets, {good, sizeof(good), kFloat, 1, 2, dims});
    TraceBatch(&recorder).Trace({{"bad", 2, -1, 0, {}}}, {bad, sizeof(bad), kFloat, 1, 2, dims});
  };
  call(1);
  call(1);  // the bytes of the rule are used up
  recorder.Discard();
  recorder.rules().SetEnabled(1);
  call(2);  // its rule is off
  call(1);
  CHECK(recorder.discards() == 2);
  recorder.Close();
  // The ring of the second part, with the constant once; a whole tensor has no id.
  CHECK(RecordsIn(base + ".graph_execution_traces") == 5);
}

// Each bad tensor rings, or only the first until the ring is taken; masks and ignored tensors do not.
void RingTheAlarm(const std::string& base) {
  const int64_t dims[] = {1};
  const float values[] = {1, INFINITY, NAN};
  const auto rang = [&](Recorder* recorder, int value, bool rings = true) {
    TraceBatch batch(recorder);
    batch.Trace({{"op", 1, -1, 0, {}, rings}}, {&values[value], sizeof(float), kFloat, 1, 1, dims});
    return batch.rang();
  };
  Recorder failing(Mode::kFullHealth, -1);
  CHECK(failing.Open(base + " failing", 0).empty());
  CHECK(rang(&failing, 2) == 0);  // nobody has armed it
  failing.alarm().Arm({true, true, true, true});
  CHECK(rang(&failing, 0) == 0 && rang(&failing, 1, false) == 0);
  CHECK(rang(&failing, 1) == 1 && rang(&failing, 2) == 2);
  CHECK(failing.Execution("call", "call", Bad::kNan) == 0);
  CHECK(failing.Execution("call", "call", Bad::kNan, {}, Bad::kNan) == 3);
  CHECK(failing.alarm().TakePending() == 0);
  CHECK(failing.alarm().Get(1).prefix == "op" && failing.alarm().Get(1).bad == Bad::kInfinite);
  CHECK(failing.alarm().Get(3).is_execution && failing.alarm().Get(4).prefix.empty());
  failing.alarm().NoteConstant(Bad::kInfinite);
  CHECK(rang(&failing, 1) == 0 && rang(&failing, 2) == 4);
  for (size_t i = 0; i < Alarm::kKept; ++i) CHECK(rang(&failing, 2) != 0);
  CHECK(failing.alarm().Get(4).prefix.empty() && failing.alarm().Get(5).prefix == "op");
  failing.Close();
  CHECK(rang(&failing, 2) == 0);

  Recorder noting(Mode::kFullHealth, -1);
  CHECK(noting.Open(base + " noting", 0).empty());
  noting.alarm().Arm({true, false, false, false});
  CHECK(rang(&noting, 2) == 0);
  std::vector<std::thread> threads;
  std::atomic<int> rings{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) rings += rang(&noting, 1) != 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(rings == 1 && noting.alarm().TakePending() == 1 && noting.alarm().TakePending() == 0);
  CHECK(rang(&noting, 1) == 2);
  noting.Close();
}

// Tensors that hold the same elements are recorded together, each with its own id.
void RecordTwins(const std::string& base) {
  Recorder recorder(Mode::kFullHealth, -1);
  CHECK(recorder.Open(base, 0).empty());
  const int64_t dims[] = {2, 1};
  const float values[] = {1, NAN};
  std::vector<TraceTarget> targets = {{"matrix", 3, -1, 0, {}}, {"vector", 4, 1, 0, {}}};
  for (TraceTarget& target : targets) target.PrepareTo(recorder.mode());
  TraceBatch(&recorder).Trace(targets, {values, 8, kFloat, 2, 2, dims});
  CHECK(recorder.num_bad() == 2);
  recorder.Close();
  CHECK((TensorIdsIn(base + ".graph_execution_traces") == std::vector<int64_t>{3, 4}));
}

// The size of the file is bounded, however many ops are bad. `bound`: the limit when no more ops are
// remembered, which is after 10000 with NaN and 5000 with infinity.
void PinNoMoreThanTheBound(const std::string& base, float value, int64_t bound) {
  constexpr int kRing = 100;
  Recorder recorder(Mode::kFullHealth, -1);
  CHECK(recorder.Open(base, kRing).empty());
  const int64_t dims[] = {1};
  const TensorView view{&value, sizeof(value), kFloat, 1, 1, dims};
  for (int i = 0; i < 30000; ++i)
    TraceBatch(&recorder).Trace({{"op " + std::to_string(i), double(i), -1, 0, {}}}, view);
  recorder.Close();
  const int64_t pinned = RecordsIn(base + ".graph_execution_traces") - kRing;
  CHECK(pinned <= bound * kRing && pinned > (bound - 2) * kRing);
}

// Chooses by several rules: bad values, sizes, and totals that several threads share.
void ChooseByRules() {
  KeepRules rules({{true, 100, -1}, {false, 50, 120}, {false, -1, 1000}});
  KeptBytes kept;
  CHECK(rules.Choose(0b001, 100, Bad::kNo, &kept) == Choice::kSummary && kept.rule == -1);
  CHECK(rules.Choose(0b001, 100, Bad::kInfinite, &kept) == Choice::kWhole && kept.rule == 0);
  CHECK(rules.Choose(0b001, 101, Bad::kNan, &kept) == Choice::kLeftOut);
  CHECK(rules.Choose(0b011, 50, Bad::kNo, &kept) == Choice::kWhole && kept.rule == 1 && kept.bytes == 50);
  CHECK(rules.Choose(0b010, 51, Bad::kNo, &kept) == Choice::kLeftOut);
  CHECK(rules.Choose(0b010, 50, Bad::kNo, &kept) == Choice::kWhole);
  CHECK(rules.Choose(0b010, 21, Bad::kNo, &kept) == Choice::kLeftOut);
  CHECK(rules.Choose(0b010, 20, Bad::kNo, &kept) == Choice::kWhole);
  CHECK(rules.Choose(0b010, 1, Bad::kNo, &kept) == Choice::kLeftOut);
  rules.GiveBack({1, 50});
  CHECK(rules.Choose(0b010, 50, Bad::kNo, &kept) == Choice::kWhole);
  rules.GiveBack({});  // of no rule
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      KeptBytes of_thread;
      for (int i = 0; i < 200; ++i) taken += rules.Choose(0b100, 7, Bad::kNo, &of_thread) == Choice::kWhole;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == 1000 / 7);
}

// In a ring, the values on record never have more bytes than the total of their rule, and
// values that the ring has dropped make room for others.
void KeepInARing(const std::string& base) {
  constexpr int kRing = 50, kValueBytes = 4000, kTotal = 10 * kValueBytes;
  Recorder recorder(Mode::kFullHealth, -1, {{false, -1, kTotal}});
  CHECK(recorder.Open(base, kRing).empty());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      const std::vector<float> values(kValueBytes / sizeof(float), 1);
      const int64_t dims[] = {static_cast<int64_t>(values.size())};
      const TensorView view{values.data(), kValueBytes, kFloat, 1, dims[0], dims};
      std::vector<TraceTarget> kept = {{"kept", 3, -1, 1, {}}}, other = {{"other", 4, -1, 0, {}}};
      kept[0].PrepareTo(recorder.mode());
      other[0].PrepareTo(recorder.mode());
      for (int i = 0; i < 2000; ++i) {
        TraceBatch batch(&recorder);
        batch.Trace(other, view);
        if (i % 10 == 0) batch.Trace(kept, view);
        EncodedTensor output;
        recorder.Encode(view, -1, 1, &output);
        recorder.Execution(output.proto, "op", Bad::kNo, {output.kept});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(recorder.on());
  recorder.Close();
  const size_t bytes =
      ContentsOf(base + ".execution").size() + ContentsOf(base + ".graph_execution_traces").size();
  CHECK(RecordsIn(base + ".execution") == kRing && RecordsIn(base + ".graph_execution_traces") == kRing);
  CHECK(bytes > 5 * kValueBytes && bytes < kTotal + 2 * kRing * 400);
}

// HowBad accepts any bytes.
void JudgeAnything() {
  std::mt19937 random(0);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 40);
    for (Mode mode : kModes) HowBad(bytes, mode);
  }
}

void MeasureFewCalls() {
  constexpr double kStep = 1e-3, kCost = 29e-6;  // so every tenth call
  EarlierCalls calls;
  int measured = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t number = calls.Count();
    CHECK(number == i);
    if (!calls.IsDue(number)) continue;
    CHECK(!calls.IsDue(number));
    EarlierCall call;
    call.number = number;
    call.stamp.wall_time = kStep * static_cast<double>(i);
    calls.Add(std::move(call), kCost);
    ++measured;
  }
  CHECK(measured == 17 + 98);
  const std::vector<EarlierCall> kept = calls.Take(0.8);
  CHECK(kept.size() == 20 && kept.front().number == 806 && kept.back().number == 996);
  CHECK(calls.Take(0).empty());
  calls.Close();
  calls.Add(EarlierCall(), kCost);
  CHECK(calls.Take(-1).empty());
}

// Files are truncated while they are mapped: recording ends, the program goes on.
void LoseTheTailFile(const std::string& base, int64_t circular_buffer_size) {
  struct sigaction before, after;
  CHECK(sigaction(SIGBUS, nullptr, &before) == 0);
  Recorder recorder(Mode::kFullHealth, -1);
  CHECK(recorder.Open(base, circular_buffer_size).empty());
  recorder.Execution("first", "op", Bad::kNo);
  CHECK(recorder.on());
  CHECK(truncate((base + ".execution.tail").c_str(), 0) == 0);
  for (int i = 0; i < 3; ++i) recorder.Execution("later", "op", Bad::kNo);
  CHECK(!recorder.on());
  CHECK(recorder.failure().find(".tail was cut") != std::string::npos);
  recorder.Close();
  // The first record was written to the event file at once, unless there is a ring.
  CHECK(RecordsIn(base + ".execution") == (circular_buffer_size > 0 ? 0 : 1));
  CHECK(sigaction(SIGBUS, nullptr, &after) == 0);
  CHECK(after.sa_sigaction == before.sa_sigaction);
}

void SayWhatFails(const std::string& base) {
  Recorder nowhere(Mode::kFullHealth, -1);
  CHECK(nowhere.Open(base + "/not/there", 0).find("cannot open") == 0);
  CHECK(!nowhere.on());
  CHECK(FindWatch(-1) == nullptr && FindConstants(1 << 20) == nullptr);
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  SummarizeAnything();
  TakeChecksums();
  MakeRecordsOfParts();
  EncodeStrings();
  ViewStaticShapes();
  CompleteShapes();
  RecordFromThreads(folder + "/journal", 0, false);
  RecordFromThreads(folder + "/ring", 100, false);
  RecordFromThreads(folder + "/closed", 0, true);
  KeepTheLastOnes(folder + "/last");
  KeepWithinABudget(folder + "/budget");
  PinTheFirstBadOne(folder + "/pinned");
  RecordTwins(folder + "/twins");
  DiscardAndGoOn(folder + "/discarded");
  RingTheAlarm(folder + "/alarm");
  PinNoMoreThanTheBound(folder + "/many NaN", NAN, 34);
  PinNoMoreThanTheBound(folder + "/many infinite", INFINITY, 15);
  ChooseByRules();
  KeepInARing(folder + "/kept");
  JudgeAnything();
  MeasureFewCalls();
  LoseTheTailFile(folder + "/lost", 0);
  LoseTheTailFile(folder + "/lost ring", 2);
  SayWhatFails(folder + "/fails");
  ExerciseGate();
  std::puts("good");
}
