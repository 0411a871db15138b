"""The event file format in Python: framing, records, file sets, text dump. No TensorFlow.

In come bytes of ``tfdbg_events.*`` files, out come messages, and the other way round. What each byte means is
written in ``docs/event-format.md``; the record kinds are in ``protos/debug_event.proto``.
"""
