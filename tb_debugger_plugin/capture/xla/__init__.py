"""Functions that XLA compiles: what they compute is handed out of them and recorded."""
