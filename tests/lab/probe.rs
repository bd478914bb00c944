//! Asking a process on this machine whether it is ready.

use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Fine when `/readyz` on that port answers 200.
pub(crate) async fn ready(port: u16) -> Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    connection
        .write_all(b"GET /readyz HTTP/1.0\r\n\r\n")
        .await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    ensure!(
        answer.split(' ').nth(1) == Some("200"),
        "/readyz answers {answer}"
    );
    Ok(())
}

/// Fine when something listens on that port.
pub(crate) async fn listens(port: u16) -> Result<()> {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    Ok(())
}
