// The watch ops, which record the watched tensors of a graph.
#pragma once

#include <string>

namespace tbdbg {

// `TbDebuggerWatch` records its input and has no output; it is one more consumer of
// the tensor. `TbDebuggerWatchInline` passes its input through, and the consumers take
// its output. So the tensor's reference count, and with it TensorFlow's reuse of
// buffers, is the same as without a watch op. Both have the attributes T (dtype) and
// watch (number of a Watch), and run on the CPU.
//
// `TbDebuggerWatchSeveral` and `TbDebuggerWatchSeveralInline` have more inputs:
// N other tensors, which they record before the first one.
//
// `TbDebuggerWatchReduced` takes the numbers to which a tensor was reduced on its own
// device; it has the attributes watch and mode (of the numbers).
//
// LoadTfApi must have succeeded. Returns an empty string, or an error.
// A second call does nothing.
std::string RegisterWatchOps();

}  // namespace tbdbg
