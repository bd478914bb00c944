//! How long an answer takes, from bytes to bytes: decode, compose, encode.

use criterion::{Criterion, Throughput};
use function_c5c3::Claims;
use function_c5c3_fixtures::Workload;
use function_protocol::run;
use function_protocol::v1::RunFunctionRequest;
use prost::{DecodeError, Message};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    answers(&mut criterion);
    criterion.final_summary();
}

fn answers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("answer");
    for workload in Workload::all() {
        let request = workload.bytes();
        group.throughput(Throughput::Bytes(request.len() as u64));
        group.bench_function(&workload.name, |bencher| bencher.iter(|| answer(&request)));
    }
    group.finish();
}

fn answer(request: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let request = RunFunctionRequest::decode(request)?;
    Ok(run(&Claims, request).encode_to_vec())
}
