"""What ops and tensors are to the program: layers, variables and their gradients."""
