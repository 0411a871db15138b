// Runs the gate from several threads, and checks the results.
#pragma once

void ExerciseGate();
