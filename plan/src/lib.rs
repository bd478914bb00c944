//! Runs the composers with no cluster at all and shows what they make.
