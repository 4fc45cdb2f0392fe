"""Timelines and tables for people: Gantt charts, Perfetto traces, tables."""
