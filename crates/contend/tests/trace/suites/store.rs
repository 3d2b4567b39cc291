use std::sync::{Barrier, Mutex};

static ACCOUNTS: Mutex<u32> = Mutex::new(0);
static JOURNAL: Mutex<u32> = Mutex::new(0);

fn pay(both: &Barrier) {
    let _first = ACCOUNTS.lock().unwrap();
    both.wait();
    let _second = JOURNAL.lock().unwrap();
}

fn audit(both: &Barrier) {
    let _first = JOURNAL.lock().unwrap();
    both.wait();
    let _second = ACCOUNTS.lock().unwrap();
}

#[test]
fn adds() {
    assert_eq!(1 + 1, 2);
}

#[test]
fn pays_and_audits() {
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| pay(&both));
        scope.spawn(|| audit(&both));
    });
}
