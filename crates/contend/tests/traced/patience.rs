//! Waiting for a process, within a limit.

use std::io::Read;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

/// A child that must end.
pub trait Patience {
    /// Its output; a panic, and it is killed, if it has not ended by then.
    fn wait_with_output_in(&mut self, most: Duration) -> Output;
}

impl Patience for Child {
    fn wait_with_output_in(&mut self, most: Duration) -> Output {
        let until = Instant::now() + most;
        let status = loop {
            match self.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => {
                    self.kill().unwrap();
                    panic!("it does not end");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.stdout.take().map(|mut pipe| pipe.read_to_end(&mut stdout));
        self.stderr.take().map(|mut pipe| pipe.read_to_end(&mut stderr));
        Output { status, stdout, stderr }
    }
}
