"""The event file format in Python: framing, records, file sets and the text dump, without TensorFlow.

Converts the bytes of ``tfdbg_events.*`` files into messages and back. ``docs/event-format.md`` describes each
byte; ``protos/debug_event.proto`` defines the kinds of records.
"""
