"""Writes rows into Parquet files.

Takes slices of chunks and the layout. Writes the files of one part of a long list, or the short tables, into
a folder at any location that fsspec writes to.

Invariant: the files depend only on the inputs, so a part that is written twice has the same content twice.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import fsspec
from fsspec.implementations.local import LocalFileSystem

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import EXECUTION, SUFFIXES
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.bookkeeping import FileNotices, file_row, replace_files, replace_hosts
from tb_debugger_plugin.index.decode import TABLES, list_columns
from tb_debugger_plugin.index.merge import merge
from tb_debugger_plugin.index.parquet import LONG, MANIFEST, Manifest, write_columns, write_table
from tb_debugger_plugin.index.records import Decoder, Rows, join
from tb_debugger_plugin.index.rows import FileRow
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.pipeline.layout import Described, Layout, PartId, Slice
from tb_debugger_plugin.pipeline.survey import decoder_of, read_chunk

#: Number of rows, and of bad rows, of a part.
Counts = tuple[int, int]


def clear(folder: str) -> None:
    """Remove the manifest, so that viewers take the folder for unfinished while tables are replaced."""
    files, path = fsspec.core.url_to_fs(folder)
    files.makedirs(path, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        files.rm_file(f"{path}/{MANIFEST}")


@contextlib.contextmanager
def _database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"autoinstall_known_extensions": False, "threads": 1}) as connection:
        schema.create_tables(connection)
        yield connection


def _put(tables: Mapping[str, str], folder: str, write: Callable[[str, Path], object]) -> None:
    """Write tables into the folder under the given names; `write` makes the file of one on this machine.

    Raises:
      OSError: The folder, or the folder of temporary files, cannot be written.
    """
    files, path = fsspec.core.url_to_fs(folder)
    is_local = isinstance(files, LocalFileSystem)
    # Beside the others, so that a file gets its name when it is whole. Object stores do that anyway.
    with tempfile.TemporaryDirectory(prefix=".unfinished_", dir=path if is_local else None) as scratch:
        for table, name in tables.items():
            local = Path(scratch) / name
            try:
                write(table, local)
            except duckdb.Error as error:
                raise OSError(f"{folder} cannot be written: {error}") from error
            if is_local:
                local.replace(Path(path) / name)
            else:
                files.put_file(str(local), f"{path}/{name}")


def names_of(part: PartId) -> dict[str, str]:
    """Return the file name of each table of a part."""
    suffix, number = part
    return {table: f"{table}-{number:05d}.parquet" for table in TABLES[suffix]}


def write_short(run: FoundRun, described: Described, stable: Mapping[str, int], folder: str) -> None:
    """Write the short tables, whose size depends on the program.

    Args:
      run: The run.
      described: Contents of the tables.
      stable: Stable numbers of rows of the long lists, for ``meta``.
      folder: URL or path of the folder.
    """
    rows = [
        _file_row(run, described, host, suffix) for host in range(len(run.file_sets)) for suffix in SUFFIXES
    ]
    with _database() as connection:
        described.describer.save(connection)
        described.describer.registry.save(connection)
        replace_hosts(connection, described.describer.hosts)
        replace_files(connection, rows)
        FileNotices({}).save(connection, described.notices)
        schema.write_meta(
            connection,
            dump_root=run.folder.resolve(),
            **{f"stable_{name}": count for name, count in stable.items()},
        )
        short = {table: f"{table}.parquet" for table in schema.TABLES if table not in LONG}
        _put(short, folder, functools.partial(write_table, connection))


def _file_row(run: FoundRun, described: Described, host: int, suffix: str) -> FileRow:
    name, key = run.file_sets[host].path(suffix).name, (host, suffix)
    return file_row(host, suffix, name, described.states[key], described.dropped.get(key, 0))


def write_part(part: PartId, slices: Iterable[Slice], layout: Layout, before: Counts, folder: str) -> PartId:
    """Write the rows of one part.

    Args:
      part: The id of the part.
      slices: All slices that belong to the part, in any order.
      layout: Holds the numbers of everything.
      before: Number of rows, and of bad rows, of all parts of the list before this one.
      folder: URL or path of the folder.

    Returns:
      The id of the part.

    Raises:
      FormatError: The files have changed since they were surveyed.
    """
    ordered = sorted(slices, key=lambda piece: (piece.chunk.host, piece.chunk.number))
    tables = _columns(part[0], ordered, layout, *before)
    with _database() as connection:
        _put(names_of(part), folder, lambda table, to: write_columns(connection, table, tables[table], to))
    return part


def _columns(
    suffix: str, slices: Sequence[Slice], layout: Layout, first: int, first_bad: int
) -> dict[str, dict[str, Array]]:
    latest: dict[int, float] = {}
    parts: dict[int, list[Rows]] = {}
    decoders: dict[int, Decoder] = {}
    for piece in slices:
        host = piece.chunk.host
        latest.setdefault(host, piece.latest)
        decoder = decoders.setdefault(host, decoder_of(piece.chunk, layout.registry))
        rows = read_chunk(piece.chunk, decoder).rows
        if rows is None or len(rows) < piece.num_rows:
            path = piece.chunk.files.path(piece.chunk.suffix)
            raise FormatError(f"{path} changed while it was read; the dump must be complete.")
        parts.setdefault(host, []).append(rows.take(slice(piece.num_rows)))
    merged = merge({host: join(of_host) for host, of_host in parts.items()}, latest)
    assert merged is not None, "a part has rows"
    return list_columns(suffix, merged, first, first_bad)


def finish(run: FoundRun, parts: Iterable[PartId], stable: Mapping[str, int], folder: str) -> None:
    """Write the manifest, which makes the folder a run.

    Args:
      run: The run.
      parts: Ids of all parts that were written.
      stable: Stable numbers of rows of the long lists.
      folder: URL or path of the folder.

    Raises:
      FormatError: The folder lacks files that workers have written.
    """
    short = {table: f"{table}.parquet" for table in schema.TABLES if table not in LONG}
    order = sorted(parts, key=lambda part: (part[0] != EXECUTION, part[1]))
    manifest = Manifest(schema.SCHEMA_VERSION, run.start_time, dict(stable), (short, *map(names_of, order)))
    files, path = fsspec.core.url_to_fs(folder)
    files.invalidate_cache()
    there = {str(each).rpartition("/")[2] for each in files.ls(path, detail=False)}
    missing = sorted({name for step in manifest.steps for name in step.values()} - there)
    if missing:
        raise FormatError(
            f"{folder} lacks {missing[0]} (of {len(missing)} that are missing): every worker must"
            " write into the same folder."
        )
    files.pipe_file(f"{path}/{MANIFEST}", manifest.text().encode())
