"""The TensorBoard plugin and its routes: check the request, query ``analysis``, answer.

Takes WSGI requests and returns JSON, columns or files of the built front end. ``docs/http-api.md`` is the
contract.
"""
