"""Plumbline: answers over a team's code and docs, each paragraph checked against its sources.

The path of a request, top to bottom:

``lambda_runtime``   the Runtime API loop with streamed responses
``http``             function URL event -> Request; Response; headers; error payload
``wiring``           one module a function: the only place that joins parts
``routes``           the search function's routes
``lookups``          what it answers beside turns: code search, MCP, repositories, health
``web_page``         the static files of ``functions/search/web``
``gate``             ``admit()``: API key, limits, breakers and session in one Redis round trip
``turn``             one chat turn; it begins in ``ignition``, then ``orchestrator``
``search``           looking things up
``audit``            the auditor: nothing reaches a reader but through it
``index``            a repository becomes records
``adapters``         one vendor a file; only ``wiring`` imports them
``instance``         brand, personas, signals: what a team edits; ``policy`` is its auditor's part
``sources``          Source, the one shape of a retrieved record
``settings``         environment -> frozen models
``observability``    logger and metrics
``errors``           the error tree

Imports run down this list; ``tests/unit/test_imports.py`` holds each room to it. The package
re-exports nothing.
"""
