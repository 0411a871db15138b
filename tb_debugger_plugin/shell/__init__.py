"""The commands of tfdbg over recordings, and the user interfaces that show their answers."""
