//! What every long-running task of the program is as a process: its logs, its end, its HTTP port for metrics and health, its TLS.

mod http;
mod logs;
mod stop;
pub mod tls;

pub use http::{Answer, ListenError, listen, metrics, pages, serve};
pub use logs::{LogFormat, init_logs};
pub use stop::stop_signal;
