"""The pages of the documentation: every code block of them is run, or says why it is not.

A comment right above a block, which no reader sees, says so: ``<!-- not run: a signature -->`` with the reason, or
``<!-- needs: torch -->`` where the block is run only if that package is installed. The blocks of a page share names
and files.
"""
