"""`DebugDumpDir`: dumped tensors as tfdbg v1 gives them to scripts, from dump folders and from recordings."""
