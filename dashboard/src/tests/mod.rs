//! The dashboard before a small API server.

mod api;
mod serving;
mod shown;
