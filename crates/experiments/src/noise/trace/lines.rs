//! A trace as lines, which netgauge's `selfish` writes too.

use super::heading::Heading;
use crate::noise::measure::GapTrace;

/// As netgauge's `selfish` writes them: start and duration, a gap a line, comments behind `#`.
pub fn lines(heading: &Heading<'_>, kept: &GapTrace) -> String {
    let Heading { scenario, threshold_ns, .. } = heading;
    let span_ns = kept.span_ns;
    let mut text = format!(
        "# contend noise: scenario {scenario}; start_ns duration_ns\n# threshold_ns {threshold_ns:.1}\n# span_ns {span_ns:.0}\n"
    );
    for pause in &kept.unwatched {
        text.push_str(&format!("# unwatched {:.0} {:.0}\n", pause.start_ns, pause.duration_ns));
    }
    for gap in &kept.gaps {
        // Both ends are rounded, so that a gap which begins where the last one ended does so in whole ns too.
        let start = gap.start_ns.round();
        let duration = (gap.start_ns + gap.duration_ns).round() - start;
        text.push_str(&format!("{start:.0} {duration:.0}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::measure::KeptGap;

    #[test]
    fn gaps_that_follow_each_other_at_once_do_not_overlap() {
        let gap = |start_ns, duration_ns| KeptGap { start_ns, duration_ns };
        let kept = GapTrace { gaps: vec![gap(100.4, 200.4), gap(300.8, 50.0)], span_ns: 1e6, ..GapTrace::default() };
        let heading = Heading { scenario: "quiet", threshold_ns: 150.0, started_unix_s: 1_000 };
        let text = lines(&heading, &kept);
        assert!(text.ends_with("\n100 201\n301 50\n"), "{text}");
    }
}
