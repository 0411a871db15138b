"""The Beam pipeline; only this module imports Apache Beam.

Takes a run and writes its tables into a folder. Workers survey chunks in parallel; one worker combines the
results into a layout; then workers write the parts of the lists in parallel.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.pvalue import AsSingleton, TaggedOutput

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, TAILED
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.pipeline import tables
from tb_debugger_plugin.pipeline.layout import ROWS_A_PART, Layout, PartId, Slice, cut, lay_out
from tb_debugger_plugin.pipeline.survey import CHUNK_BYTES, Chunk, Facts, chunks_of, survey

#: Beam's own runner in Python. The runner that Beam calls direct may fetch a program from the network.
_DIRECT = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"


def convert(
    run: FoundRun,
    folder: str,
    options: Sequence[str] = (),
    *,
    chunk_bytes: int = CHUNK_BYTES,
    rows_a_part: int = ROWS_A_PART,
) -> None:
    """Convert a run's event files into a folder of tables.

    Args:
      run: The run; every worker must be able to read its files, and they must not grow during the conversion.
      folder: Path or URL of the folder, which every worker must be able to write.
      options: Options of Beam, such as ``--runner=DataflowRunner``; the default is the direct runner.
      chunk_bytes: Approximate number of bytes of a file that one worker surveys.
      rows_a_part: Approximate number of rows in one file of a long list.
    """
    pipeline_options = PipelineOptions(list(options))
    if not any(option.startswith("--runner") for option in options):
        pipeline_options.view_as(StandardOptions).runner = _DIRECT
    tables.clear(folder)
    with beam.Pipeline(options=pipeline_options) as pipeline:
        _build(pipeline, run, folder, chunk_bytes, rows_a_part)


def _build(pipeline: Any, run: FoundRun, folder: str, chunk_bytes: int, rows_a_part: int) -> None:
    files = [(host, suffix) for host in range(len(run.file_sets)) for suffix in TAILED]
    surveyed = (
        pipeline
        | "files" >> beam.Create(files)
        | "one worker a file" >> beam.Reshuffle()
        | "chunks" >> beam.FlatMap(functools.partial(_chunks, run=run, chunk_bytes=chunk_bytes))
        | "one worker a chunk" >> beam.Reshuffle()
        | "survey" >> beam.FlatMap(_surveyed).with_outputs("spans", main="facts")
    )
    facts = surveyed.facts | "all facts" >> beam.combiners.ToList()
    layout = facts | "lay out" >> beam.Map(functools.partial(_lay_out, run, folder, rows_a_part))
    parts = (
        surveyed.spans | "cut" >> beam.FlatMap(cut, layout=AsSingleton(layout)) | "parts" >> beam.GroupByKey()
    )
    counts = parts | "count" >> beam.Map(_count) | "all counts" >> beam.combiners.ToDict()
    (
        parts
        | "one worker a part" >> beam.Reshuffle()
        | "write" >> beam.Map(_write, layout=AsSingleton(layout), counts=AsSingleton(counts), folder=folder)
        | "all parts" >> beam.combiners.ToList()
        | "finish" >> beam.Map(functools.partial(_finish, run, folder), AsSingleton(facts))
    )


def _chunks(file: tuple[int, str], run: FoundRun, chunk_bytes: int) -> Iterator[Chunk]:
    host, suffix = file
    return chunks_of(run.file_sets[host], host, suffix, chunk_bytes)


def _surveyed(chunk: Chunk) -> Iterator[Any]:
    facts, spans = survey(chunk)
    yield facts
    yield TaggedOutput("spans", spans)


def _stable(facts: Iterable[Facts]) -> dict[str, int]:
    stable = [fact for fact in facts if not fact.chunk.is_ring]
    rows = {suffix: sum(fact.num_rows for fact in stable if fact.chunk.suffix == suffix) for suffix in TAILED}
    bad = sum(fact.num_bad for fact in stable if fact.chunk.suffix == GRAPH_EXECUTION_TRACES)
    return {EXECUTION: rows[EXECUTION], GRAPH_EXECUTION_TRACES: rows[GRAPH_EXECUTION_TRACES], "bad": bad}


def _lay_out(run: FoundRun, folder: str, rows_a_part: int, facts: Sequence[Facts]) -> Layout:
    layout, described = lay_out(run, facts, rows_a_part)
    tables.write_short(run, described, _stable(facts), folder)
    return layout


def _count(part: tuple[PartId, Iterable[Slice]]) -> tuple[PartId, tables.Counts]:
    slices = list(part[1])
    return part[0], (sum(piece.num_rows for piece in slices), sum(piece.num_bad for piece in slices))


def _write(
    part: tuple[PartId, Iterable[Slice]], layout: Layout, counts: Mapping[PartId, tables.Counts], folder: str
) -> PartId:
    return tables.write_part(part[0], part[1], layout, counts, folder)


def _finish(run: FoundRun, folder: str, parts: Sequence[PartId], facts: Sequence[Facts]) -> None:
    tables.finish(run, parts, _stable(facts), folder)
