//! The protocol's messages as prost generates them: a document is a `prost_types::Struct`, a tree of maps.

include!(concat!(env!("OUT_DIR"), "/apiextensions.r#fn.proto.v1.rs"));
