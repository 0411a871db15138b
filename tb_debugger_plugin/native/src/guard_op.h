// The op that ends a guarded call of a function, and the one that hands out what it held.
//
// TbDebuggerGuard takes tensors to check, and tensors to hold: as its inputs, TensorFlow keeps them until it
// runs. If one of the checked tensors is bad, the call goes into the list of bad calls with references to the
// held tensors; else nothing remains of it. TbDebuggerHeld gives the held tensors of a bad call back.
//
// Where it costs too much to hold old variables, TbDebuggerLook looks at tensors before variables are
// updated, and TbDebuggerHold says by that whether they must be held, and whether to look at them after the
// update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tbdbg {

// What the guard of a function takes.
struct GuardSite {
  int64_t num_checked = 0;
  int64_t num_told = 0;  // how many of those, the last, are looked at only if one of the others is bad, or a
                         // look found something
  std::vector<int64_t> only_nan;  // for each of them: 1 if only NaN is bad in it, else 0
  std::vector<int64_t> dtypes;    // of the inputs to check, and then of those to hold
  // How many inputs follow that say what looks found. If any, they are `found` and `look` of TbDebuggerHold,
  // and then looks.
  int64_t num_looks = 0;
  int64_t max_held_bytes = 0;  // a call that holds more is kept without its tensors
  // The inputs whose numbers are kept of every few good calls (EarlierCalls).
  std::vector<int64_t> followed;
  // Whether threads of input pipelines run it. Its last few bad calls stay until somebody asks for them, all
  // such calls together within max_held_bytes, and NumBadCalls does not count them.
  bool in_pipeline = false;
};

// Adds a site for the current recorder. Returns the number by which the attribute of the op refers to it.
// `reserved`: a number of ReserveGuardSite, or -1.
int64_t AddGuardSite(GuardSite site, int64_t reserved);
// Returns the number of a site to add later, before TensorFlow makes an op that refers to it.
int64_t ReserveGuardSite();

// Lets the op of a site do nothing from now on, and drops the site's calls.
void CloseGuardSite(int64_t site);

// Whether TensorFlow has made the op of a site, which it does before anything of the graph runs.
bool GuardWasMade(int64_t site);

struct BadCall {
  int64_t number = 0;  // by which TbDebuggerHeld refers to it
  int64_t site = 0;
  std::vector<int64_t> bad;  // the inputs of the guard that are infinite or NaN
  bool is_held = false;      // whether its tensors are
  bool is_late = false;      // whether nothing was found before variables were updated, so they are not
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

// Notes that variables were changed by others than the function of a site, which then holds at its next call.
// -1: of all sites.
void NoteChangedVariables(int64_t site);

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
