//! Real API servers, Crossplane and providers on one bare machine.
