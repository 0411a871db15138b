"""The shell around a running program: sessions, hooks, functions and Keras."""
