//! The kinds of K-ORC.
