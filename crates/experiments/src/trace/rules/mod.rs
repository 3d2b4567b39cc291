//! The kinds of problem that a finding can be: a stable code each, and a page that says what was seen, what that needs, and
//! what would refute it. `contend explain CODE` prints the page.

use serde::{Deserialize, Serialize};

/// Defines the kinds, a line each: the variant, and the code, which is the name of the page next to this file.
macro_rules! rules {
    ($($variant:ident $code:literal,)*) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Rule {
            $(#[serde(rename = $code)] $variant,)*
        }

        impl Rule {
            /// All kinds, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code in records and on the command line.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns the page, in Markdown; its first line is a title.
            pub fn page(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!($code, ".md")),)* }
            }
        }
    };
}

rules! {
    AddressSpace "address_space",
    AllocatorLock "allocator_lock",
    HolderBlocked "holder_blocked",
    HolderPreempted "holder_preempted",
    HolderRan "holder_ran",
    HolderWaitsItself "holder_waits_itself",
    Initialisation "initialisation",
    InterpreterBlocked "interpreter_blocked",
    InterpreterLock "interpreter_lock",
    LateWaiter "late_waiter",
    LibraryLock "library_lock",
    LineFalseSharing "line_false_sharing",
    LineShared "line_shared",
    LockPrice "lock_price",
    PoolTooSmall "pool_too_small",
    PriorityInversion "priority_inversion",
    RetriedLock "retried_lock",
    SeveralCauses "several_causes",
    ShortSections "short_sections",
    SpinningWaiters "spinning_waiters",
    Starvation "starvation",
    StreamLock "stream_lock",
    ThunderingHerd "thundering_herd",
    UnknownHolder "unknown_holder",
}

impl Rule {
    /// Returns the kind with a code.
    pub fn of(code: &str) -> Option<Self> {
        Self::ALL.iter().find(|rule| rule.code() == code).copied()
    }

    /// Returns the title of its page.
    pub fn title(self) -> &'static str {
        self.page().lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_says_what_is_seen_and_what_refutes_it() {
        for rule in Rule::ALL {
            let page = rule.page();
            for part in ["# ", "\n**Seen.** ", "\n**Needs.** ", "\n**Refuted by.** "] {
                assert!(page.contains(part), "{}: no {part:?}", rule.code());
            }
            assert!(rule.title().len() <= 60, "{}", rule.title());
        }
    }

    #[test]
    fn codes_are_sorted_and_lead_back_to_their_kind() {
        assert!(Rule::ALL.windows(2).all(|two| two[0].code() < two[1].code()));
        assert!(Rule::ALL.iter().all(|rule| Rule::of(rule.code()) == Some(*rule)));
        assert_eq!(Rule::of("no_such_code"), None);
        assert_eq!(serde_json::to_string(&Rule::HolderRan).unwrap(), "\"holder_ran\"");
    }
}
