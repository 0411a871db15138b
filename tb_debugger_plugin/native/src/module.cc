// The Python module tb_debugger_plugin.native._native: its methods, whose contracts are
// in the headers py_*.h, and its types. native/__init__.py loads it.

#include "py_encode.h"
#include "py_gate.h"
#include "py_guard.h"
#include "py_op_callback.h"
#include "py_op_runner.h"
#include "py_recorder.h"
#include "py_stack_key.h"
#include "py_tensorflow.h"
#include "py_values.h"
#include "py_watches.h"

namespace tbdbg {
namespace {

PyMethodDef methods[] = {
    {"load_tensorflow", PyLoadTensorflow, METH_VARARGS,
     "load_tensorflow(path, knows_classes): register the watch ops with TensorFlow."},
    {"load_eager_api", PyLoadEagerApi, METH_O, "load_eager_api(path): read eager tensors without Python."},
    {"reads_classes", PyReadsClasses, METH_NOARGS,
     "reads_classes(): whether watch ops read tensors through TensorFlow's C++ classes."},
    {"encode_summary", PyEncodeSummary, METH_VARARGS,
     "encode_summary(buffer, dtype, shape, mode, tensor_id, max_tensor_bytes=-1): an encoded TensorProto."},
    {"bad_element", PyBadElement, METH_VARARGS,
     "bad_element(buffer, dtype, shape, summary, mode): where a tensor is bad, see py_encode.h."},
    {"crc32c", PyCrc32c, METH_O, "crc32c(buffer): the unmasked checksum."},
    {"add_constants", PyAddConstants, METH_NOARGS, "add_constants(): the number of a new graph's constants."},
    {"add_constant", PyAddConstant, METH_VARARGS,
     "add_constant(constants, prefix, value): add a value to record when the graph first runs."},
    {"add_watch", PyAddWatch, METH_VARARGS,
     "add_watch(targets, dtype, dims, constants, before): the number of a new watch."},
    {"add_compiled_tensors", PyAddCompiledTensors, METH_O,
     "add_compiled_tensors(tensors): the number of the tensors that a compiled function passes to its op."},
    {"add_guard_site", PyAddGuardSite, METH_VARARGS,
     "add_guard_site(num_checked, num_nan, num_told, dtypes, followed, max_held_bytes, in_pipeline=False): the "
     "number of what the guard of a function takes."},
    {"close_guard_site", PyCloseGuardSite, METH_O, "close_guard_site(site): let its guard do nothing."},
    {"guard_was_made", PyGuardWasMade, METH_O, "guard_was_made(site): whether TensorFlow has made its op."},
    {"has_bad", PyHasBad, METH_O,
     "has_bad(tensors): whether an eager tensor has an infinity or NaN, see py_guard.h."},
    {"record_earlier_calls", PyRecordEarlierCalls, METH_VARARGS,
     "record_earlier_calls(site, inputs, execution, last_step): record the good calls that are kept."},
    {"num_bad_calls", PyNumBadCalls, METH_NOARGS, "num_bad_calls(): how many bad calls wait to be taken."},
    {"take_bad_call", PyTakeBadCall, METH_O, "take_bad_call(site): the first BadCall of a site, or None."},
    {"release_bad_call", PyReleaseBadCall, METH_O, "release_bad_call(number): drop what a bad call holds."},
    {"stack_key", PyStackKey, METH_O, "stack_key(frame): bytes that identify the stack that ends there."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_native",
                          "Watch ops, record encoder and event files.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace tbdbg

PyMODINIT_FUNC PyInit__native() {
  tbdbg::Owned module(PyModule_Create(&tbdbg::definition));
  if (module == nullptr || !tbdbg::AddRecorderType(module.get()) || !tbdbg::AddGateTypes(module.get()) ||
      !tbdbg::AddOpCallbackType(module.get()) || !tbdbg::AddOpRunnerType(module.get()) ||
      !tbdbg::LoadBadCall())
    return nullptr;
  return module.release();
}
