"""The commands of the shell, a module for each group."""
