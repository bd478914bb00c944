//! Crossplane's function protocol as plain data: messages, documents, request and response. No I/O.
//!
//! A [`Function`] is a pure function from a [`Request`] to a [`Response`]; [`run`] is one call of it. The facts are those
//! of crossplane's `contributing/specifications/functions.md` and `proto/fn/v1/run_function.proto`.

mod capabilities;
mod conditions;
mod document;
mod fatal;
mod function;
mod head;
mod request;
mod response;
mod secrets;
mod seeds;

pub use capabilities::Capabilities;
pub use conditions::{Condition, ConditionStatus};
pub use document::{Document, DocumentError, Item, Items};
pub use fatal::Fatal;
pub use function::{Function, answer, run};
pub use head::{Head, HeadMetadata};
pub use request::{Request, Required};
pub use response::{Match, Readiness, Response, Selector, Severity};
pub use v1::Capability;

/// The messages of the protocol. The v1beta1 package has the same ones.
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/apiextensions.r#fn.proto.v1.rs"));
}

/// The descriptors of both packages, v1 and v1beta1, and what they import, as an encoded
/// `google.protobuf.FileDescriptorSet`: for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/run_function.binpb"));
