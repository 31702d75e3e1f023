"""Exchanges worked out for fields: links bound to their layouts, and what an engine is that moves
them.

Read `items`, `layouts`, `binding` and `rules`, then `engine`, `plan` and `planning`; `plan_cache`
and `kept_plans` find plans again, `local` is the engine of one process, `aliasing` and `debugging`
look for mistakes.
"""
