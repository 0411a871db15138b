"""The settings of the shell: a registry of names, kinds and defaults, and the file that keeps them.

The file is JSON. One that cannot be read or written is reported in a line and changes nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

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
    default: int
    parse: Callable[[str], int]
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


def user_file() -> Path:
    """Return the file of the user's settings."""
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "tb_debugger_plugin" / "shell.json"


class Settings:
    """The values of the settings.

    Args:
      file: The file that keeps them; None if changes live only as long as the object.

    Attributes:
      file: As given.
      problem: What is wrong with the file, in a sentence; None if nothing is.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.problem: str | None = None
        self._values = {one.name: one.default for one in SETTINGS}
        self._others: dict[str, object] = {}
        if file is not None:
            self._load(file)

    def __getitem__(self, name: str) -> int:
        """Return a value.

        Raises:
          UsageError: There is no such setting.
        """
        return self._values[self._known(name).name]

    def set(self, name: str, text: str) -> None:
        """Change a setting, and write the file.

        Raises:
          UsageError: There is no such setting, or the text is none of its values.
        """
        setting = self._known(name)
        try:
            self._values[name] = setting.parse(text)
        except ValueError as error:
            raise UsageError(f"{name} cannot be {text!r}: {_reason(error)}.") from None
        if self.file is not None:
            self._save(self.file)

    def _known(self, name: str) -> Setting:
        for setting in SETTINGS:
            if setting.name == name:
                return setting
        raise UsageError(f"There is no setting {name!r}; there is {', '.join(self._values)}.")

    def _load(self, file: Path) -> None:
        try:
            stored = json.loads(file.read_text("utf-8"))
            if not isinstance(stored, dict):
                raise ValueError("it is no JSON object")
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self.problem = f"The settings in {file} cannot be read, so the defaults hold: {_reason(error)}."
            return
        for setting in SETTINGS:
            if setting.name in stored:
                self._take(setting, stored.pop(setting.name), file)
        self._others = stored  # of another version; they are kept

    def _take(self, setting: Setting, value: object, file: Path) -> None:
        try:
            self._values[setting.name] = setting.parse(str(value))
        except ValueError as error:
            self.problem = f"{setting.name} in {file} cannot be {value!r}: {_reason(error)}."

    def _save(self, file: Path) -> None:
        text = json.dumps({**self._others, **self._values}, indent=2) + "\n"
        # Another shell may read the file at the same time.
        part = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text, "utf-8")
            part.replace(file)
            self.problem = None
        except OSError as error:
            self.problem = f"The settings are not kept: {file} cannot be written: {_reason(error)}."
            with contextlib.suppress(OSError):
                part.unlink()


def _reason(error: Exception) -> str:
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return " ".join(text.split()).rstrip(".")
