//! The environment of the machine that runs the test.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use instruments::cpus;
use instruments::environment::{Activity, Environment};

#[test]
fn compressed_kernel_configuration_is_read() {
    if !Path::new("/proc/config.gz").exists() || std::process::Command::new("gzip").arg("--version").output().is_err() {
        println!("skipped: needs /proc/config.gz and gzip");
        return;
    }
    // A tree of files that looks like the root of another machine.
    let root = std::env::temp_dir().join(format!("instruments-live-{}", std::process::id()));
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::copy("/proc/config.gz", root.join("proc/config.gz")).unwrap();
    let hz = Environment::probe_under(&root).kernel.hz;
    fs::remove_dir_all(&root).unwrap();
    assert!(hz.is_some());
}

#[test]
fn this_machine_can_be_probed() {
    let start = Instant::now();
    let environment = Environment::probe();
    println!("{environment:#?} in {:?}", start.elapsed());
    assert_eq!(environment.cpu.allowed, Some(cpus::allowed().unwrap()));
    assert!(environment.kernel.release.is_some() && environment.host.memory_mib > Some(0));
}

#[test]
fn spinning_process_observes_its_own_cpu_time() {
    let allowed = cpus::allowed().unwrap();
    let before = Activity::now().unwrap();
    let end = Instant::now() + Duration::from_millis(200);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    let share = Activity::now().unwrap().since(&before, &allowed).unwrap();
    assert!(share.own_share > 0.0 && share.own_share <= 1.0, "{share:?}");
    let sum = share.own_share + share.steal_share + share.other_share + share.idle_share;
    // Idle time counts in jiffies, of which this run has 20 on each CPU: the sum may be above 1 by a few of them.
    assert!(sum > 0.999 && sum < 1.5, "{share:?}");
}
