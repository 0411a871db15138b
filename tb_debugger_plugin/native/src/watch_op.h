// The ops that stand behind watched tensors in a graph.
#pragma once

#include <string>

namespace tbdbg {

// `TbDebuggerWatch` looks at its input and has no output; it stands beside the
// consumers. `TbDebuggerWatchInline` passes its input through; the consumers
// take its output, so the tensor's reference count, and with it TensorFlow's
// reuse of buffers, is what it would be without us. Both have the attributes
// T (dtype) and watch (number of a Watch), and run on the CPU.
//
// `TbDebuggerWatchSeveral` and `TbDebuggerWatchSeveralInline` have more inputs:
// N other tensors, which they record before the first one.
//
// `TbDebuggerWatchReduced` takes the numbers to which a tensor on another device
// was reduced there; it has the attributes watch and mode (of the numbers).
//
// LoadTfApi must have succeeded. Returns an empty string, or what went wrong.
// A second call does nothing.
std::string RegisterWatchOps();

}  // namespace tbdbg
