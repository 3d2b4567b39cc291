//! `contend explain`: every code has a page.

use super::command::contend;

#[test]
fn every_code_of_the_list_has_a_page() {
    let list = String::from_utf8(contend(&["explain"]).stdout).unwrap();
    let codes: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(codes.contains(&"holder_blocked") && codes.len() > 10, "{list}");
    for code in codes {
        let page = String::from_utf8(contend(&["explain", code]).stdout).unwrap();
        assert!(page.starts_with("# ") && page.contains("\nRefuted by. "), "{code}: {page}");
    }
}

#[test]
fn code_is_accepted_as_it_is_printed() {
    let page = |code| contend(&["explain", code]).stdout;
    assert_eq!(page("[holder_blocked]"), page("holder_blocked"));
    assert_eq!(page("Holder-Blocked"), page("holder_blocked"));
    let unknown = contend(&["explain", "no_such_thing"]);
    assert_eq!((unknown.status.code(), unknown.stdout.is_empty()), (Some(2), true));
}
