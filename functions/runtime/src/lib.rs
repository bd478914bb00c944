//! Serves a Crossplane composition function over gRPC. Knows nothing of OpenStack.
