//! tmp
#[path = "../../examples/ring/hand_written.rs"]
mod hand_written;
#[path = "../../examples/ring/asynchronous.rs"]
mod asynchronous;
#[path = "../../examples/ring/ordinary.rs"]
mod ordinary;
use std::time::Instant;
use protothreads::*;
use std::cell::Cell;
fn main() {
    println!("{} {}", hand_written::SIZE, asynchronous::size());
    let mut best: Vec<(&str, Vec<f64>)> = vec![];
    let mut best2: Vec<(&str, Vec<f64>)> = vec![];
    let mut time = |name: &'static str, hops: u32, f: &dyn Fn(u32) -> (usize, Report)| {
        if std::env::var("ONLY").is_ok_and(|o| o != name) { return; }
        let s = Instant::now();
        f(hops);
        let t = s.elapsed().as_nanos() as f64 / hops as f64;
        match best.iter_mut().find(|b| b.0 == name) { Some(b) => b.1.push(t), None => best.push((name, vec![t])) }
    };
    let mut chase: Vec<[usize; 8]> = (0..503).map(|i| [((i + 1) % 503) * 64; 8]).collect();
    for _ in 0..100 {
        time("chase", 2_000_000, &|h| { let mut at = 0; for _ in 0..h { at = unsafe { std::ptr::read_volatile((&chase[0][0] as *const usize as *const u8).add(at) as *const usize) }; } std::hint::black_box(at); (0, Report::default()) });
        time("run-next", 2_000_000, &|h| hand_written::ring::<false>(std::hint::black_box(503), h, RunNext::new()));
        time("fifo", 2_000_000, &|h| hand_written::ring::<false>(std::hint::black_box(503), h, Fifo::new()));
        time("fifo back", 2_000_000, &|h| hand_written::ring::<true>(std::hint::black_box(503), h, Fifo::new()));
        time("async fifo", 2_000_000, &|h| asynchronous::ring(std::hint::black_box(503), h, Fifo::new()));
        time("async run-next", 2_000_000, &|h| asynchronous::ring(std::hint::black_box(503), h, RunNext::new()));
        time("waker fifo", 2_000_000, &|h| ordinary::ring(std::hint::black_box(503), h, Fifo::new()));
        time("bitmap", 2_000_000, &|h| hand_written::ring::<false>(std::hint::black_box(503), h, Bitmap::new([const { Cell::new(0) }; 8])));
        time("in order", 2_000_000, &|h| hand_written::ring::<false>(std::hint::black_box(503), h, InOrder::new()));
        time("reverse", 10_000, &|h| hand_written::ring::<false>(std::hint::black_box(503), h, Reverse::new()));
        for (name, args) in [("c opt", ["optimum", "0"]), ("c opt called", ["optimum", "1"]), ("c queue", ["queue", "0"]), ("c queue called", ["queue", "1"]), ("c++ queue", ["queue", ""]), ("c++ direct", ["direct",""])] {
            if std::env::var("ONLY").is_ok() { continue; }
            let best = &mut best2;
            let out = std::process::Command::new(if args[1].is_empty() {"/tmp/w/pt/ringcpp"} else {"/tmp/w/pt/ringc"}).args(args.iter().filter(|a| !a.is_empty())).args(["503", "2000000"]).output().unwrap();
            let out = String::from_utf8(out.stdout).unwrap();
            let ns: f64 = out.trim().split(' ').nth(1).unwrap().parse().unwrap();
            match best.iter_mut().find(|b| b.0 == name) { Some(b) => b.1.push(ns/2e6), None => best.push((name, vec![ns/2e6])) }
        }
    }
    chase[0][0] = 0;
    for (name, mut v) in best.into_iter().chain(best2) { v.sort_by(f64::total_cmp); println!("{name:>16} min {:.3} q1 {:.3} median {:.3}", v[0], v[v.len()/4], v[v.len() / 2]); }
}
