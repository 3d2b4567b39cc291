//! CPU lists, and the affinity of a thread.

use instruments::cpus::schedule::weight;
use instruments::cpus::{self, CpuSet, MAX_CPU, ParseCpuSetError, UnusableCpus};
use proptest::prelude::*;

proptest! {
    #[test]
    fn set_survives_printing_and_parsing(numbers in prop::collection::vec(0..=MAX_CPU, 0..64)) {
        let set: CpuSet = numbers.iter().copied().collect();
        prop_assert_eq!(set.to_string().parse::<CpuSet>(), Ok(set));
    }

    #[test]
    fn dense_sets_are_written_with_ranges(first in 0..MAX_CPU - 100, length in 2..100usize) {
        let set: CpuSet = (first..first + length).collect();
        prop_assert_eq!(set.to_string(), format!("{first}-{}", first + length - 1));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-0-9, x]{0,12}") {
        if let Ok(set) = text.parse::<CpuSet>() {
            prop_assert!(set.last().is_none_or(|last| last <= MAX_CPU));
        }
    }
}

#[test]
fn lists_are_read_in_any_order_and_written_in_one() {
    for (list, canonical) in
        [("0", "0"), ("0,1", "0-1"), ("8,0-3", "0-3,8"), (" 3 , 1 \n", "1,3"), ("2,2", "2"), ("", "")]
    {
        assert_eq!(list.parse::<CpuSet>().unwrap().to_string(), canonical, "{list:?}");
    }
}

#[test]
fn a_bad_piece_is_named() {
    let error = |list: &str| list.parse::<CpuSet>().unwrap_err();
    assert_eq!(error("0,zero"), ParseCpuSetError::NotANumber { piece: "zero".to_owned() });
    assert_eq!(error("-1"), ParseCpuSetError::NotANumber { piece: "-1".to_owned() });
    assert_eq!(error("0,+1"), ParseCpuSetError::NotANumber { piece: "+1".to_owned() });
    assert_eq!(error("0,3-1"), ParseCpuSetError::Backwards { piece: "3-1".to_owned() });
    assert_eq!(error("0,,1"), ParseCpuSetError::EmptyPiece { list: "0,,1".to_owned() });
    assert_eq!(error("0-4294967295"), ParseCpuSetError::TooLarge { piece: "0-4294967295".to_owned() });
    assert_eq!(
        error("99999999999999999999999"),
        ParseCpuSetError::TooLarge { piece: "99999999999999999999999".to_owned() }
    );
    assert!(error("0,3-1").to_string().contains("`3-1`"));
}

#[test]
fn a_thread_can_be_pinned_to_each_allowed_cpu_and_released() {
    std::thread::spawn(|| {
        let allowed = cpus::allowed().unwrap();
        for cpu in allowed.iter() {
            cpus::pin_current_thread(cpu).unwrap();
            assert_eq!(cpus::current_cpu(), cpu);
            assert_eq!(cpus::allowed().unwrap(), CpuSet::single(cpu));
        }
        cpus::restrict_current_thread(&allowed).unwrap();
        assert_eq!(cpus::allowed().unwrap(), allowed);
    })
    .join()
    .unwrap();
}

#[test]
fn pinning_to_a_cpu_that_does_not_exist_is_an_error() {
    let error = cpus::pin_current_thread(MAX_CPU).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let error = cpus::restrict_current_thread(&CpuSet::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_request_is_checked_against_this_machine() {
    let allowed = cpus::allowed().unwrap();
    assert_eq!(cpus::resolve(&allowed, &allowed).unwrap(), allowed);
    let error = cpus::resolve(&CpuSet::single(MAX_CPU), &allowed).unwrap_err();
    assert!(matches!(error, UnusableCpus::NoSuchCpu { cpu: MAX_CPU, .. }), "{error}");
    assert!(error.to_string().contains(&allowed.to_string()), "{error}");
}

#[test]
fn allowed_cpus_are_online() {
    let online = cpus::online().unwrap();
    assert!(cpus::allowed().unwrap().iter().all(|cpu| online.contains(cpu)));
}

#[test]
fn ten_nice_values_are_a_factor_of_about_nine() {
    assert_eq!((weight(-20), weight(0), weight(19)), (88_761, 1_024, 15));
    for nice in -20..=9 {
        let factor = f64::from(weight(nice)) / f64::from(weight(nice + 10));
        assert!((8.5..10.5).contains(&factor), "{nice}: {factor}");
    }
}
