"""The paper's programs and decomposition, against one another and against the definition."""
