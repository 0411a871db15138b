"""The engine of GUARD: checks what a call of a function leaves behind, and replays the call that went bad."""
