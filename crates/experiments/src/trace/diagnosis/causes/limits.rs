//! The CPUs that a program uses, and those that it could use.

/// CPU time, of the program and of all CPUs, in seconds.
pub(in crate::trace::diagnosis) struct Limits {
    pub(in crate::trace::diagnosis) on_cpu_s: f64,
    pub(in crate::trace::diagnosis) ready_s: f64,
    /// The time of all CPUs that it may use.
    pub(in crate::trace::diagnosis) capacity_s: f64,
    /// The CPUs that the control group allows, where the program uses nearly all of them.
    pub(in crate::trace::diagnosis) cpu_limit: Option<f64>,
    /// Whether other programs were seen to use most of the CPUs that the program left.
    pub(in crate::trace::diagnosis) have_others_the_rest: bool,
}

impl Limits {
    /// Returns the remedy for holders that had no CPU: a control group limits the program, its other threads use the CPUs, or
    /// other programs do.
    pub(super) fn fewer_threads(&self) -> String {
        const NEARLY_ALL: f64 = 0.75;
        if let Some(limit) = self.cpu_limit {
            let cpus = limited_cpus(limit);
            return format!("raise the limit of its control group (cpu.max: {cpus}), or use fewer busy threads");
        }
        let words = if self.on_cpu_s >= NEARLY_ALL * self.capacity_s {
            "use at most as many busy threads as CPUs"
        } else if !self.have_others_the_rest {
            "give the program more CPUs, or use fewer busy threads"
        } else if self.on_cpu_s + self.ready_s <= self.capacity_s {
            "give the program CPUs that other programs do not use"
        } else {
            "give the program CPUs that other programs do not use, or use fewer busy threads"
        };
        words.to_owned()
    }
}

/// Writes a number of CPUs: `1.0 CPU`, `2.5 CPUs`, `0.25 CPUs`.
pub(in crate::trace::diagnosis) fn limited_cpus(limit: f64) -> String {
    let digits = if (limit * 10.0).fract() == 0.0 { 1 } else { 2 };
    format!("{limit:.digits$} {}", if limit == 1.0 { "CPU" } else { "CPUs" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedy_for_holders_without_a_cpu_names_who_has_it() {
        let limits =
            Limits { on_cpu_s: 2.0, ready_s: 0.0, capacity_s: 20.0, cpu_limit: None, have_others_the_rest: true };
        assert_eq!(limits.fewer_threads(), "give the program CPUs that other programs do not use");
        let alone = Limits { have_others_the_rest: false, ..limits };
        assert_eq!(alone.fewer_threads(), "give the program more CPUs, or use fewer busy threads");
        let limited = Limits { cpu_limit: Some(0.25), ..limits }.fewer_threads();
        assert!(limited.starts_with("raise the limit of its control group (cpu.max: 0.25 CPUs)"), "{limited}");
        assert_eq!([limited_cpus(1.0), limited_cpus(0.1)], ["1.0 CPU", "0.1 CPUs"]);
    }
}
