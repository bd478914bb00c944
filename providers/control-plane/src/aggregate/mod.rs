//! SecretAggregate: one Secret from keys of several.
