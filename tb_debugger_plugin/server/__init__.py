"""The TensorBoard plugin and its routes: check the request, ask ``analysis``, answer.

In come WSGI requests, out come JSON, columns or files of the built front end. ``docs/http-api.md`` is the
contract.
"""
