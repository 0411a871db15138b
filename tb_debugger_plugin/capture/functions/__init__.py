"""The functions of the program and the definitions that the runtime has of them."""
