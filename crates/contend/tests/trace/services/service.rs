//! A TCP service on tokio and eight clients of it in one process. All requests acquire one `tokio::sync::Mutex`. A line every
//! 100 ms has the number of requests that were answered; it ends with its input.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

static ANSWERED: AtomicU64 = AtomicU64::new(0);

type Pages = Arc<Mutex<HashMap<String, u64>>>;

async fn serve(stream: TcpStream, pages: Pages) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 {
        let answer = {
            let mut pages = pages.lock().await;
            let count = pages.entry(line.clone()).or_insert(0);
            *count += 1;
            format!("{count}\n")
        };
        stream.write_all(answer.as_bytes()).await?;
        ANSWERED.fetch_add(1, Relaxed);
        line.clear();
    }
    Ok(())
}

async fn requests(stream: TcpStream, page: u64) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        stream.write_all(format!("page{page}\n").as_bytes()).await?;
        line.clear();
        stream.read_line(&mut line).await?;
    }
}

async fn run() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    for client in 0..8 {
        tokio::spawn(requests(TcpStream::connect(address).await?, client % 3));
    }
    let pages = Pages::default();
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream, pages.clone()));
    }
}

fn main() -> Result<()> {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            println!("{}", ANSWERED.load(Relaxed));
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.spawn(run());
    std::io::stdin().read(&mut [0])?;
    Ok(())
}
