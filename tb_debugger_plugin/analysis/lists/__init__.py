"""The two long lists, executions and graph executions: pages, columns, filters."""
