"""The graphs of the program: ops, neighbours, the graphs that ops run, forward ops of gradients."""
