#include "py_guard.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eager_tensor.h"
#include "guard_op.h"
#include "py_values.h"

namespace tbdbg {
namespace {

Struct bad_call_struct;

bool ToFollowedInput(PyObject* item, FollowedInput* input) {
  return Read(item, "prefix", &input->prefix) && Read(item, "tensor_id", &input->tensor_id);
}

}  // namespace

bool LoadBadCall() { return bad_call_struct.Load("BadCall", {"number", "site", "bad", "is_held"}); }

PyObject* PyAddGuardSite(PyObject*, PyObject* args) {
  GuardSite site;
  PyObject *dtypes, *followed;
  long long num_checked, num_nan, num_told, max_held_bytes;
  int in_pipeline = 0;
  if (!PyArg_ParseTuple(args, "LLLO!O!L|p", &num_checked, &num_nan, &num_told, &PyTuple_Type, &dtypes,
                        &PyTuple_Type, &followed, &max_held_bytes, &in_pipeline)) {
    return nullptr;
  }
  if (!FromPython(dtypes, &site.dtypes) || !FromPython(followed, &site.followed)) return nullptr;
  site.num_checked = num_checked;
  site.num_nan = num_nan;
  site.num_told = num_told;
  site.max_held_bytes = max_held_bytes;
  site.in_pipeline = in_pipeline != 0;
  return PyLong_FromLongLong(AddGuardSite(std::move(site)));
}

PyObject* PyCloseGuardSite(PyObject*, PyObject* site) {
  int64_t number;
  if (!FromPython(site, &number)) return nullptr;
  Py_BEGIN_ALLOW_THREADS
  CloseGuardSite(number);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject* PyGuardWasMade(PyObject*, PyObject* site) {
  int64_t number;
  if (!FromPython(site, &number)) return nullptr;
  return PyBool_FromLong(GuardWasMade(number));
}

PyObject* PyRecordEarlierCalls(PyObject*, PyObject* args) {
  long long site, last_step;
  PyObject *given, *execution;
  if (!PyArg_ParseTuple(args, "LO!SL", &site, &PyList_Type, &given, &execution, &last_step)) return nullptr;
  std::vector<FollowedInput> inputs;
  if (!ToItems(given, &ToFollowedInput, &inputs)) return nullptr;
  const std::string fields(BytesOf(execution));
  Py_BEGIN_ALLOW_THREADS
  RecordEarlierCalls(site, inputs, fields, last_step);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject* PyNumBadCalls(PyObject*, PyObject*) { return PyLong_FromLongLong(NumBadCalls()); }

bool HasBad(PyObject* tensors) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tensors); ++i) {
    EagerTensor tensor(PySequence_Fast_GET_ITEM(tensors, i));
    bool is_bad;
    Py_BEGIN_ALLOW_THREADS
    const TensorView& view = tensor.view();
    is_bad = tensor.ReadElements() && HasInfOrNan(view.data, view.num_elements, view.dtype);
    Py_END_ALLOW_THREADS
    if (is_bad) return true;
  }
  return false;
}

PyObject* PyHasBad(PyObject*, PyObject* tensors) {
  const Owned sequence(PySequence_Fast(tensors, "tensors must be a sequence"));
  return sequence == nullptr ? nullptr : PyBool_FromLong(HasBad(sequence.get()));
}

PyObject* PyTakeBadCall(PyObject*, PyObject* site) {
  int64_t number;
  if (!FromPython(site, &number)) return nullptr;
  const std::optional<BadCall> call = TakeBadCall(number);
  if (!call) Py_RETURN_NONE;
  PyObject* bad = MakeList(call->bad.size(), [&](size_t i) { return PyLong_FromLongLong(call->bad[i]); });
  return bad_call_struct.Make({PyLong_FromLongLong(call->number), PyLong_FromLongLong(call->site), bad,
                               PyBool_FromLong(call->is_held)});
}

PyObject* PyReleaseBadCall(PyObject*, PyObject* call) {
  int64_t number;
  if (!FromPython(call, &number)) return nullptr;
  Py_BEGIN_ALLOW_THREADS
  ReleaseBadCall(number);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

}  // namespace tbdbg
