//! Any events at any time: no hole, no overlap, and the parts of a gap sum to it.

use super::{COMPETITOR, END, READER, scene, stretch};
use instruments::evidence::EventKind::{Entered, Exited, Left, Lost, Took};
use instruments::evidence::{EntryExitOverhead, EventKind, Stretch, attribute};
use instruments::gaps::Gap;
use proptest::prelude::*;

/// Returns any event at any time, as no kernel would report it.
fn event() -> impl Strategy<Value = (u64, EventKind)> {
    let task = || prop::sample::select(vec![0, READER, COMPETITOR, u32::MAX]);
    let other = || prop::option::of(task());
    let what = prop_oneof![
        (task(), other(), any::<bool>()).prop_map(|(task, next, preempted)| Left { task, next, preempted }),
        (task(), other()).prop_map(|(task, previous)| Took { task, previous }),
        (task(), 0_u32..4).prop_map(|(task, handler)| Entered { task, handler }),
        (task(), 0_u32..4).prop_map(|(task, handler)| Exited { task, handler }),
        (0_u64..5).prop_map(|reports| Lost { reports }),
    ];
    (0..40_000_u64, what)
}

proptest! {
    #[test]
    fn a_track_has_no_holes_and_no_overlaps(events in prop::collection::vec(event(), 0..40)) {
        let timeline = scene().timeline(&events);
        let segments = &timeline.tracks[0].segments;
        let ends = [segments.first().map(|first| first.start), segments.last().map(|last| last.end)];
        prop_assert_eq!(ends, [Some(0), Some(END)]);
        prop_assert!(segments.windows(2).all(|pair| pair[0].end == pair[1].start));
        prop_assert!(segments.iter().all(|segment| segment.start <= segment.end));
    }

    #[test]
    fn parts_of_a_gap_sum_to_its_length(
        events in prop::collection::vec(event(), 0..40),
        lengths in prop::collection::vec((1..3_000_u64, 1..3_000_u64), 0..12),
        (usual, missing) in (0..500_u64, 0..20_000_u64),
        flags in prop::collection::vec(any::<bool>(), 0..12),
    ) {
        let mut timeline = scene().timeline(&events);
        timeline.quality.account.wall_ns = missing;
        timeline.quality.account.run_delay_ns = Some(0);
        let mut at = 0;
        let gaps: Vec<Gap> = lengths.iter().map(|&(pause, length)| {
            at += pause + length;
            Gap { start: at - length, length }
        }).collect();
        let stretch = Stretch { usual, preempted: &flags, ..stretch(&timeline, &gaps) };
        let mut overhead = EntryExitOverhead::default();
        overhead.learn(&stretch);
        let attribution = attribute(&stretch, &overhead);
        prop_assert_eq!(attribution.gaps(), gaps.len());
        for (number, gap) in gaps.iter().enumerate() {
            prop_assert_eq!(attribution.of_gap(number).iter().map(|(_, ticks)| ticks).sum::<u64>(), gap.length);
        }
        prop_assert!(attribution.explained_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(attribution.recall.missed <= attribution.recall.reported);
        // An attribution added to itself has twice the time of each cause.
        let mut twice = attribution.clone();
        twice.absorb(&attribution);
        prop_assert_eq!((twice.total(), twice.gaps()), (2 * attribution.total(), 2 * gaps.len()));
        prop_assert_eq!(twice.causes().len(), attribution.causes().len());
    }
}
