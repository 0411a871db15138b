"""The version of this package, which recordings name as their writer: the only place where it stands."""

__version__ = "0.1.0"
