"""The user interfaces of the shell: plain lines, and a full screen."""
