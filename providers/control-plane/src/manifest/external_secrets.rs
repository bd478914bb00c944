//! The kinds of External Secrets.
