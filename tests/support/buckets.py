"""Runs object stores on this machine: servers that emulate S3 and Google Cloud Storage.

Takes a scheme and returns the URL of an empty bucket, which fsspec can read while the block runs.
"""

from __future__ import annotations

import os
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import fsspec
import pytest

from tb_debugger_plugin.events import locations
from tests.support.serving import answering, free_port

_PATIENCE_S = 60.0


def _command(scheme: str, port: int) -> list[str]:
    if scheme == "s3":
        return ["moto.server", "--host", "127.0.0.1", "--port", str(port)]
    return ["gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", str(port), "--in-memory"]


def object_store(scheme: str, log: Path) -> AbstractContextManager[str]:
    """Runs a server during the block and yields its address. The server's output goes to `log`."""
    port = free_port()
    return answering(["-m", *_command(scheme, port)], port, log)


def use_store(monkeypatch: pytest.MonkeyPatch, scheme: str, address: str) -> None:
    """Let fsspec use the server at the address, by settings that a user's environment could have."""
    if scheme == "s3":
        for name, value in {
            **{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"},
            **{"AWS_ENDPOINT_URL": address, "AWS_EC2_METADATA_DISABLED": "true"},
        }.items():
            monkeypatch.setenv(name, value)
    else:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        # gcsfs would ask whether buckets have folders by gRPC and TLS, which this server does not support.
        monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon", "project": "here"})


def new_bucket(scheme: str) -> str:
    """Make an empty bucket and return its URL."""
    name = f"b{uuid.uuid4().hex}"
    fsspec.filesystem(scheme).mkdir(name)
    return f"{scheme}://{name}"


def upload(folder: Path, url: str) -> None:
    """Upload the files below a folder to a URL; they replace files with the same names."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            _put(f"{url}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def _put(url: str, content: bytes) -> None:
    scheme, _, place = url.partition("://")
    if scheme == "s3":
        fsspec.filesystem(scheme).pipe(url, content)
        return
    # Not with fsspec: the server loses a line end at the end of an upload in several parts.
    bucket, _, name = place.partition("/")
    query = urllib.parse.urlencode({"uploadType": "media", "name": name})
    address = f"{os.environ['STORAGE_EMULATOR_HOST']}/upload/storage/v1/b/{bucket}/o?{query}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(address, content), timeout=_PATIENCE_S).close()


@contextmanager
def forgotten(scheme: str) -> Iterator[None]:
    """A block before and after which no file system of a scheme is remembered."""
    _forget(scheme)
    yield
    _forget(scheme)


def _forget(scheme: str) -> None:
    locations._file_system.cache_clear()
    fsspec.filesystem(scheme).clear_instance_cache()
