// The op that ends a guarded call of a function, and the one that hands out what it held.
//
// TbDebuggerGuard takes tensors to check, and tensors to hold: as its inputs, TensorFlow keeps them until it
// runs. If one of the checked tensors is bad, the call goes into the list of bad calls with references to the
// held tensors; else nothing remains of it. TbDebuggerHeld gives the held tensors of a bad call back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tbdbg {

// What the guard of a function takes.
struct GuardSite {
  int64_t num_checked = 0;
  int64_t num_told = 0;         // how many of those, the last, are bad only if one of the others is
  int64_t num_nan = 0;          // how many of those before them are bad only if they have a NaN
  std::vector<int64_t> dtypes;  // of all inputs: first those to check, then those to hold
  int64_t max_held_bytes = 0;   // a call that holds more is kept without its tensors
  // The inputs whose numbers are kept of every few good calls (EarlierCalls).
  std::vector<int64_t> followed;
  // Whether threads of input pipelines run it. Its last few bad calls stay until somebody asks for them, all
  // such calls together within max_held_bytes, and NumBadCalls does not count them.
  bool in_pipeline = false;
};

// Adds a site for the current recorder. Returns the number by which the attribute of the op refers to it.
int64_t AddGuardSite(GuardSite site);

// Lets the op of a site do nothing from now on, and drops the site's calls.
void CloseGuardSite(int64_t site);

// Whether TensorFlow has made the op of a site, which it does before anything of the graph runs.
bool GuardWasMade(int64_t site);

struct BadCall {
  int64_t number = 0;  // by which TbDebuggerHeld refers to it
  int64_t site = 0;
  std::vector<int64_t> bad;  // the inputs of the guard that are infinite or NaN
  bool is_held = false;      // whether its tensors are
};

// How the records of an input begin that is followed; the prefix is empty for one that is not recorded.
struct FollowedInput {
  std::string prefix;  // see EncodeTrace
  double tensor_id = 0;
};

// Records the good calls that are kept of a site, oldest first, and drops them. Those that ended before the
// last record are left out, so that times rise. `inputs`: those of GuardSite::followed. `execution`: the
// encoded fields of the Execution of each call. `last_step`: the step of the last call, if a step is a call;
// else -1.
void RecordEarlierCalls(int64_t site, const std::vector<FollowedInput>& inputs, const std::string& execution,
                        int64_t last_step);

// How many calls of functions that are in no pipeline wait to be taken. Reads one number.
int64_t NumBadCalls();
// Takes the first of them that is of a site. Its tensors stay until ReleaseBadCall.
std::optional<BadCall> TakeBadCall(int64_t site);
// Drops the tensors of a call; does nothing if there is no such call.
void ReleaseBadCall(int64_t number);
// Drops all calls.
void ReleaseBadCalls();

// Registers the ops. Returns an empty string, or an error.
std::string RegisterGuardOps();

}  // namespace tbdbg
