// The Python type OpCallback, an op callback of TensorFlow. Runs once for each eager op of the program, so it
// handles ordinary ops without Python and leaves the others to a Python callback.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// Adds the type to the module. False with a Python exception set.
//
// OpCallback(recorder, otherwise, handle, of_thread): called as (op_type, inputs, attrs, outputs,
// op_name=None, graph=None). `otherwise`: the Python callback, called with the same arguments for ops of
// graphs, while is_plain is false, and for what cannot be handled here. `handle`: called with what
// AfterRecord (py_recorder.h) returns, unless that is 0. `of_thread`: has the op callbacks of the running
// thread as `op_callbacks`.
//
// At first it leaves all ops to Python. Then it does one of two things:
// - records(devices, summarize): records each op, see EagerOp. `otherwise` adds the thread that runs and the
//   op, when either is new, by add_thread(number) and
//   add_call_site(op_type, num_outputs, stack_key, prefix, is_recorded). An empty prefix records nothing.
//   forget_call_sites() drops all.
// - checks(own, changing, devices): leaves an op to Python if one of its outputs is bad, or of an assignment
//   an input, or if its type begins with one of the strings in the tuple `changing` while notes_changes is
//   true. `own`: a set of types of which nothing is looked at. The last good ops are noted; those whose
//   thread or call site is new are left to Python, which notes them by note(op_type, stack_key, inputs,
//   outputs). record_noted(tensors) records the noted ops that are later than the last execution on record,
//   see RecordNotedOp. follow(wanted) leaves all ops of the running thread to Python, or no longer.
// end() leaves all ops to Python for good.
bool AddOpCallbackType(PyObject* module);

}  // namespace tbdbg
