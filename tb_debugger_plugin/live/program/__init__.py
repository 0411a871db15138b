"""The side of the training process: stops the program, and answers what debuggers ask."""
