"""Exchanges bound to the layouts of fields.

Read `layouts` and `vectors`: the fields; `binding` and `checks`: links in bytes; `engines`: the
ranks and transports; `plan` and `planning`; `debugging` is for GRIDBUF_DEBUG=1.
"""
