"""One suite for every face of the server, asked by Triton's own clients.

::

    models      what is served, as ONNX files and as models of Triton's Python backend
    servers     our own server, in this process or by `engine serve`: SERVERS
    clients     a client a face; a further face is an entry of CLIENTS
    case        a case: what to ask, and what must come of it whatever the face
    cases_*     the cases, by subject
    oracle      the same cases put to a real Triton: python -m tests.serving.conformance.oracle
"""
