//! A connection between two machines that breaks: it passes a number of bytes of the answers, and then closes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub struct Proxy {
    pub address: SocketAddr,
    breaks: Arc<AtomicUsize>,
}

impl Proxy {
    /// Creates a proxy to `server` that breaks this many times, each time after another number of bytes.
    pub fn to(server: SocketAddr, breaks: usize, after: impl Fn(usize) -> usize + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let broken = Arc::new(AtomicUsize::new(0));
        let proxy = Self { address, breaks: Arc::clone(&broken) };
        thread::spawn(move || {
            for (place, client) in listener.incoming().enumerate() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { return };
                let allowed = if place < breaks { after(place) } else { usize::MAX };
                let broken = Arc::clone(&broken);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pass(from, to, usize::MAX));
                thread::spawn(move || {
                    if pass(server, client, allowed) {
                        broken.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        proxy
    }

    /// Returns how often it broke.
    pub fn breaks(&self) -> usize {
        self.breaks.load(Ordering::Relaxed)
    }
}

/// Returns whether it was cut.
fn pass(mut from: TcpStream, mut to: TcpStream, allowed: usize) -> bool {
    let (mut left, mut bytes) = (allowed, [0; 16_384]);
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let through = length.min(left);
        if to.write_all(&bytes[..through]).is_err() {
            break;
        }
        left -= through;
        if left == 0 {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return true;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    false
}
