"""A result in words."""

from steinball.report.text import render_summary

__all__ = ["render_summary"]
