"""The full screen of the shell, drawn with Textual."""
