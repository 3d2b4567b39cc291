//! The loop that accepts connections until a signal ends it, and then finishes the open requests.

use super::answer::answer;
use super::connections::{Connection, Connections};
use super::limits::{ANSWER, DRAIN, HANDSHAKE, HEAD, HEAD_BYTES, HEADERS, STALLED};
use super::state::State;
use anyhow::{Context, bail};
use harness::output;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Listens at this address.
///
/// # Errors
/// It is in use, not an address of this machine, or not permitted to this user.
pub fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    let listening = socket.bind(address).and_then(|()| socket.listen(BACKLOG));
    listening.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow::anyhow!("{address}: another program uses this address; name another port with --listen")
        }
        io::ErrorKind::AddrNotAvailable => {
            anyhow::anyhow!("{address}: not an address of this machine; name another with --listen")
        }
        io::ErrorKind::PermissionDenied => {
            anyhow::anyhow!("{address}: Permission denied; use a port from 1024 up")
        }
        _ => anyhow::Error::new(error).context(format!("{address}: cannot listen")),
    })
}

/// Accepts and answers until SIGTERM, SIGINT or SIGHUP.
///
/// # Errors
/// The system refuses a signal handler.
pub async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) -> anyhow::Result<()> {
    let mut signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [terminate, interrupt, hangup] = &mut signals;
    let (Ok(terminate), Ok(interrupt), Ok(hangup)) = (terminate, interrupt, hangup) else {
        bail!("cannot install the signal handlers");
    };
    allow_connections(state.connections.most())?;
    let (draining, is_draining) = watch::channel(false);
    let turns = tokio::spawn(in_turn(Arc::clone(&state)));
    let mut looks = interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => take(stream, tls.clone(), &state, is_draining.clone()),
                // Usually no file descriptor is left: the open connections continue, and one will close.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            _ = looks.tick() => state.connections.cut_those_older_than(ANSWER),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => break,
        }
    }
    drop(listener);
    turns.abort();
    drain(&state, &draining).await;
    Ok(())
}

/// Raises the limit of files for these connections and some more.
fn allow_connections(most: usize) -> anyhow::Result<()> {
    let needed = most as u64 + 128;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).with_context(|| {
        format!(
            "--connections {most}: the limit of open files is too low ({:?}); use fewer --connections, or raise \
             `ulimit -n`",
            limit.maximum.unwrap_or(0)
        )
    })
}

async fn drain(state: &Arc<State>, draining: &watch::Sender<bool>) {
    let _ = draining.send(true);
    state.connections.cut_idle();
    state.live.end();
    let experiments = state.experiments.stop();
    let answered = async {
        while state.connections.open() > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let (answered, ()) = tokio::join!(timeout(DRAIN, answered), experiments);
    if answered.is_err() {
        output::eprint_line(&format!("{} connections were closed before they had finished", state.connections.open()));
    }
}

/// Starts the experiments of the list one after another, as long as the server runs; one that is due while another runs
/// waits for its end.
async fn in_turn(state: Arc<State>) {
    let Some(every) = state.experiments.every else { return };
    let mut turns = interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for call in state.experiments.calls().iter().cycle() {
        turns.tick().await;
        state.experiments.idle().await;
        if let Err(error) = state.experiments.start(call, &state.live, state.archive.folder()) {
            output::eprint_line(&format!("error: {call}: {error:#}"));
        }
    }
}

/// Starts to answer a new connection.
fn take(stream: TcpStream, tls: Option<TlsAcceptor>, state: &Arc<State>, is_draining: watch::Receiver<bool>) {
    // Without a free slot, an idle connection is closed; if none is idle, this one.
    let Some(connection) = Connections::enter(&state.connections) else { return };
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let is_cut = connection.is_cut();
        tokio::select! {
            () = is_cut => {}
            () = talk(stream, tls, &state, &connection, is_draining) => {}
        }
        drop(connection);
    });
}

async fn talk(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    state: &Arc<State>,
    connection: &Arc<Connection>,
    is_draining: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let mut paced = TimeoutStream::new(stream);
    paced.set_write_timeout(Some(STALLED));
    let paced = Box::pin(paced);
    match tls {
        None => exchange(paced, state, connection, is_draining).await,
        Some(tls) => {
            if let Ok(Ok(encrypted)) = timeout(HANDSHAKE, tls.accept(paced)).await {
                exchange(encrypted, state, connection, is_draining).await;
            }
        }
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    state: &Arc<State>,
    connection: &Arc<Connection>,
    mut is_draining: watch::Receiver<bool>,
) {
    let service = service_fn(|request| answer(Arc::clone(state), Arc::clone(connection), request));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_headers(HEADERS).max_header_size(HEAD_BYTES);
    builder.max_buf_size(2 * HEAD_BYTES);
    let mut talking = pin!(builder.serve_connection(TokioIo::new(stream), service));
    loop {
        tokio::select! {
            // The error concerns only the client, which was answered as far as possible.
            _ = talking.as_mut() => return,
            Ok(()) = is_draining.changed() => talking.as_mut().graceful_shutdown(),
        }
    }
}
