"""The program's graphs and functions, and the definitions that the runtime has of them."""
