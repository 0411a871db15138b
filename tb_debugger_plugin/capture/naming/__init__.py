"""Names the layers and variables of ops, and the roles of tensors."""
