"""The settings of the shell: a registry of names, kinds and defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tb_debugger_plugin.errors import UsageError


class Setting(NamedTuple):
    """A setting.

    Attributes:
      name: Its name.
      default: Its value unless it is set.
      parse: Makes a value of a text; raises `ValueError` for another text.
      meaning: One line.
    """

    name: str
    default: Any
    parse: Callable[[str], Any]
    meaning: str


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("give a whole number from 1 on")
    return number


def _flag(text: str) -> bool:
    known = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    if text.lower() not in known:
        raise ValueError("give true or false")
    return known[text.lower()]


SETTINGS: Final = (
    Setting("graph_recursion_depth", 20, _whole, "how deep li and lo go with -r"),
    Setting("mouse_mode", True, _flag, "whether the full screen takes the mouse"),
)


class Settings:
    """The values of the settings; changes live as long as the object."""

    def __init__(self) -> None:
        self._values = {one.name: one.default for one in SETTINGS}

    def __getitem__(self, name: str) -> Any:
        """Returns a value.

        Raises:
          UsageError: There is no such setting.
        """
        return self._values[self._known(name).name]

    def set(self, name: str, text: str) -> None:
        """Change a setting.

        Raises:
          UsageError: There is no such setting, or the text is none of its values.
        """
        setting = self._known(name)
        try:
            self._values[name] = setting.parse(text)
        except ValueError as error:
            raise UsageError(f"{name} cannot be {text!r}: {error}.") from None

    def _known(self, name: str) -> Setting:
        for setting in SETTINGS:
            if setting.name == name:
                return setting
        raise UsageError(f"There is no setting {name!r}; there is {', '.join(self._values)}.")
