//! The kernel's record beside a thread that measures: opened once for its CPUs, since opening and closing takes longer
//! than some turns.

use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::evidence::Recorder;

/// The record of these CPUs, opened if it is not yet; it follows the calling thread from now on.
pub fn following<'a>(record: &'a mut Option<Recorder>, clock: Clock, cpus: &CpuSet) -> &'a mut Recorder {
    match record {
        Some(recorder) => {
            recorder.follow_this_thread();
            recorder
        }
        None => record.insert(Recorder::open(clock, cpus)),
    }
}
