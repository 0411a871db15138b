// The encoder's functions for Python: summaries and checksums. Methods of the module
// (module.cc), with a Python exception set when they return null.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// encode_summary(buffer, dtype, shape, mode, tensor_id, max_tensor_bytes=-1): the
// TensorProto that EncodeSummary encodes, as bytes. `buffer` holds the elements of the
// tensor, in C order. ValueError for strings, whose layout in NumPy is not that in
// TensorFlow, and for a buffer whose size does not fit dtype and shape.
PyObject* PyEncodeSummary(PyObject* module, PyObject* args);

// bad_element(buffer, dtype, shape, summary, mode): the positions of the first NaN or infinity and of the
// first NaN, which is -1 if there is none; None if the encoded `summary` of the tensor in `mode` shows none.
PyObject* PyBadElement(PyObject* module, PyObject* args);

// crc32c(buffer): the checksum of the bytes, unmasked.
PyObject* PyCrc32c(PyObject* module, PyObject* buffer);

}  // namespace tbdbg
