//! Asking a process on this machine whether it is ready.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Fine when `/readyz` on that port answers 200.
pub(crate) async fn ready(port: u16) -> Result<()> {
    page(port, "/readyz").await.map(drop)
}

/// The page of that path on that port of this machine, with its headers.
///
/// # Errors
/// When nothing answers there, or not with 200.
pub async fn page(port: u16, path: &str) -> Result<String> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    connection
        .write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    ensure!(
        answer.split(' ').nth(1) == Some("200"),
        "{path} answers {answer}"
    );
    Ok(answer)
}

/// Fine when something listens on that port.
pub(crate) async fn listens(port: u16) -> Result<()> {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(())
}
