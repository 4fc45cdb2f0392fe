"""Serving: the Open Inference Protocol above a data plane that knows no protocol.

::

    server        listens, drains on SIGTERM; address says why it cannot
    grpc_face     one thin method an RPC  (grpc_infer, grpc_status, codec, wire, messages)
    http_face     one a path  (http_infer, http_status, json_values); http_listener runs it
    outputs       how outputs are wanted: as they are, as classes, in shared_memory
    data_plane    who may run: names, versions, validation, admission, deadlines
    observation   how a server does: metrics/, the status page, traces; reporting/ tells others
    executor      the interface that a model must offer to be served
"""
