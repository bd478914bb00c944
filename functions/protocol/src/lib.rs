//! Crossplane's function protocol as plain data: messages, documents, request and response. No I/O.
