# Real third-party sources, for the comparison with ctags and the benchmark of parsing.
.PHONY: sources

sources: ## fetch real sources into build/sources, from Debian, npm and PyPI
	@scripts/real_sources
