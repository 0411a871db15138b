#include "py_stack_key.h"

#include <cstdint>

#include "py_values.h"

// From 3.11 to 3.13 the frames that the interpreter runs are read as they lie in memory. Python's public API
// makes an object for each frame first, which takes several times as long.
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000 && __has_include(<internal/pycore_frame.h>)
#define TBDBG_READS_FRAMES 1
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

namespace tbdbg {
namespace {

// Two hashes of 64 bits, of the same numbers.
class Digest {
 public:
  void Add(uint64_t number) {
    first_ = Mixed(first_, number, 0x9e3779b97f4a7c15);
    second_ = Mixed(second_, number, 0xd6e8feb86659fd93);
  }
  void AppendTo(std::string* key) const {
    const uint64_t both[] = {first_, second_};
    key->append(reinterpret_cast<const char*>(both), sizeof(both));
  }

 private:
  static uint64_t Mixed(uint64_t hash, uint64_t number, uint64_t odd) {
    hash = (hash ^ number) * odd;
    return hash ^ hash >> 32;
  }

  uint64_t first_ = 1;
  uint64_t second_ = 2;
};

uint64_t AddressOf(const void* object) { return reinterpret_cast<uintptr_t>(object); }

#ifdef TBDBG_READS_FRAMES

using Frame = _PyInterpreterFrame;

// The instruction that a frame runs. It lies in the frame's code, so its address tells both.
const void* InstructionOf(const Frame* frame) {
#if PY_VERSION_HEX >= 0x030d0000
  return frame->instr_ptr;
#else
  return frame->prev_instr;
#endif
}

const Frame* RunningFrame() {
#if PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_Get()->current_frame;
#else
  return PyThreadState_Get()->cframe->current_frame;
#endif
}

void AppendKey(const Frame* frame, std::string* key) {
  Digest digest;
  for (; frame != nullptr; frame = frame->previous) digest.Add(AddressOf(InstructionOf(frame)));
  digest.AppendTo(key);
}

void AppendKeyOf(PyFrameObject* innermost, std::string* key) { AppendKey(innermost->f_frame, key); }

#else

// The index of the instruction that a frame runs; -1 if it is not known.
int64_t InstructionOf(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  const Owned index(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_lasti"));
  const int64_t value = index == nullptr ? -1 : PyLong_AsLongLong(index.get());
  PyErr_Clear();
  return value;
#endif
}

void AppendKeyOf(PyFrameObject* innermost, std::string* key) {
  Digest digest;
  auto* frame = reinterpret_cast<PyFrameObject*>(Py_XNewRef(innermost));
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    digest.Add(AddressOf(code));
    Py_DECREF(code);
    digest.Add(static_cast<uint64_t>(InstructionOf(frame)));
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  digest.AppendTo(key);
}

#endif

}  // namespace

void AppendStackKey(std::string* key) {
#ifdef TBDBG_READS_FRAMES
  AppendKey(RunningFrame(), key);
#else
  AppendKeyOf(PyEval_GetFrame(), key);
#endif
}

PyObject* PyStackKey(PyObject*, PyObject* innermost) {
  if (!PyFrame_Check(innermost)) {
    PyErr_SetString(PyExc_TypeError, "the argument must be a frame");
    return nullptr;
  }
  std::string key;
  AppendKeyOf(reinterpret_cast<PyFrameObject*>(innermost), &key);
  return ToBytes(key);
}

}  // namespace tbdbg
