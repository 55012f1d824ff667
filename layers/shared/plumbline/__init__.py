"""Plumbline: answers over a team's code and docs, each paragraph checked against its sources.

The path of a request, top to bottom:

``lambda_runtime``   the Runtime API loop with streamed responses
``http``             function URL event -> Request; Response; headers; error payload
``gate``             ``admit()``: API key, rate limit, breaker and session in one Redis round trip
``settings``         environment -> frozen models
``wiring``           the only place that joins parts
``errors``           the error tree
``observability``    logger and metrics
``instance``         brand, hosts, personas, signals: what a team edits
``sources``          Source, the one shape of a retrieved record
``turn``             one chat turn, in the order it runs
``audit``            the auditor: nothing reaches a reader but through it
``index``            a repository becomes records
``search``           looking things up
``adapters``         one vendor a file

Imports run down this list; the package re-exports nothing.
"""
