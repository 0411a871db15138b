// The bad calls of guarded functions. Methods of the module (module.cc); see guard_op.h.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// add_guard_site(num_checked, num_nan, num_told, dtypes, followed, max_held_bytes, in_pipeline=False):
// returns the number of a new site. `dtypes`: a tuple of DataType numbers, of all inputs of the guard.
// `followed`: a tuple of the numbers of inputs, see GuardSite.
PyObject* PyAddGuardSite(PyObject* module, PyObject* args);

// close_guard_site(site): lets the guard of a site do nothing from now on, and drops the site's calls.
PyObject* PyCloseGuardSite(PyObject* module, PyObject* site);

// guard_was_made(site): whether TensorFlow has made the op of a site.
PyObject* PyGuardWasMade(PyObject* module, PyObject* site);

// record_earlier_calls(site, inputs, execution, last_step): see RecordEarlierCalls. `inputs`: a list of
// FollowedInputs (native/structs.py). `execution`: bytes.
PyObject* PyRecordEarlierCalls(PyObject* module, PyObject* args);

// num_bad_calls(): how many bad calls, of functions that are in no pipeline, wait to be taken.
PyObject* PyNumBadCalls(PyObject* module, PyObject*);

// Whether one of some eager tensors has an infinity or NaN. Those that are not floating, or not in the memory
// of this host, have none. `tensors`: a list or tuple.
bool HasBad(PyObject* tensors);

// has_bad(tensors): the same for any sequence.
PyObject* PyHasBad(PyObject* module, PyObject* tensors);

// take_bad_call(site): the first of them of a site, as a BadCall (native/structs.py); None if none waits.
PyObject* PyTakeBadCall(PyObject* module, PyObject* site);

// release_bad_call(number): drops what a bad call holds.
PyObject* PyReleaseBadCall(PyObject* module, PyObject* number);

// Loads native/structs.BadCall. False with a Python exception set.
bool LoadBadCall();

}  // namespace tbdbg
